/** The frames of captured code in an error's stack: function, line and column as eager execution has them. */

import { describe, expect, it } from 'vitest';
import { type Tensor, tensor, toStatic } from '../../src/index.ts';

type Program = (x: Tensor) => unknown;

/** What only a run knows: the graph ends here, and what follows runs natively. */
const broken = (): number => (Date.now() > 0 ? 2 : 1);

function fail(x: Tensor): Tensor {
  if (x.rank > 0) throw new RangeError(`rank ${x.rank}`);
  return x;
}

const later = (x: Tensor): Tensor => x.mul(2).add(fail(x.mul(3)));

class Layer {
  readonly rate = 2;

  get bad(): Tensor {
    throw new Error(`getter ${this.rate}`);
  }

  set worse(x: Tensor) {
    fail(x.mul(this.rate));
  }

  forward(x: Tensor): Tensor {
    return fail(x.mul(this.rate));
  }

  static make(x: Tensor): Tensor {
    return fail(x);
  }
}

class Deep extends Layer {
  readonly own: Tensor;

  constructor(x: Tensor) {
    super();
    this.own = fail(x.mul(this.rate));
  }
}

class Wide extends Layer {
  override forward(x: Tensor): Tensor {
    return super.forward(x.add(this.rate));
  }
}

const layer = new Layer();
const missing = null as unknown as { run(x: Tensor): Tensor; readonly rate: number };
const key = 'rate';

/** Each throws. */
const throwing: Record<string, Program> = {
  'a throw': (x) => {
    if (x.rank > 0) throw new Error('thrown');
  },
  'a throw of what a call makes': (x) => {
    if (x.rank > 0) throw Object.assign(new Error('thrown'), { code: 5 });
  },
  'a call': (x) => fail(x.mul(2)),
  'calls in calls': (x) => later(fail(x).mul(2)),
  'a method': (x) => layer.forward(x.mul(2)),
  'an inherited method': (x) => new Wide().forward(x),
  'a static method': (x) => x.add(Layer.make(x)),
  'a method by a computed name': (x) => layer[x.rank > 0 ? 'forward' : 'forward'](x),
  'an optional call': (x) => (layer as Layer | undefined)?.forward(x),
  'a getter': (x) => x.mul(layer.bad),
  'a setter': (x) => {
    layer.worse = x;
  },
  'a constructor': (x) => new Deep(x.mul(2)),
  'a callback': (x) => [x, x].map((own) => fail(own.mul(2))),
  'a named callback': (x) => {
    [x].forEach(function each(own) {
      fail(own);
    });
  },
  'a function made inside': (x) => {
    const inner = (own: Tensor): Tensor => fail(own.mul(2));
    return inner(x);
  },
  'a function called where it is made': (x) => ((own: Tensor) => fail(own))(x),
  'a property of nothing': (x) => x.mul(missing.rate),
  'an element of nothing': (x) => x.mul(missing[key as 'rate']),
  'a call of nothing': (x) => missing.run(x.mul(2)),
  'a call behind a break': (x) => fail(x.mul(broken())),
  'a call in a loop behind a break': (x) => {
    for (let i = 0; i < broken(); i++) x = i > 0 ? fail(x) : x.add(i);
    return x;
  },
  'an error that passes a finally': (x) => {
    try {
      return fail(x);
    } finally {
      x = x.mul(2);
    }
  },
  'an error of a tagged template': (x) => {
    const tag = (_: TemplateStringsArray): Tensor => fail(x);
    return tag`text`;
  },
};

/** Each gives the stack that it reads inside. */
const reading: Record<string, Program> = {
  'a new error': (x) => [x.mul(2), new Error('made').stack],
  'an error of a function': (x) => {
    const make = (): Error => new TypeError('made');
    return [x.mul(2), make().stack];
  },
  'an error that is caught': (x) => {
    try {
      return [fail(x), ''];
    } catch (error) {
      return [x.mul(2), (error as Error).stack];
    }
  },
  'an error that is returned': (x) => {
    const error = new Error('made');
    return [x.mul(2), error];
  },
};

const file = import.meta.filename.split('/').at(-1)!;

/** The frames of programs in this file, each as `name line:column`. */
function framesOf(stack: string): string[] {
  const frames: string[] = [];
  for (const text of stack.split('\n')) {
    const found = /^\s+at (?:async )?(?:(.*?) \()?.*?([^/]+):(\d+):(\d+)\)?$/.exec(text);
    if (!found || found[2] !== file) continue;
    const [, name = '', , line, column] = found;
    // What calls the programs.
    if (name === 'stackOf') break;
    // Engines name statics by the class, or as functions; aliases in brackets say nothing more.
    const short = name.replace(/ \[as .*\]$/, '').replace(/^(Function|Layer)\./, '');
    frames.push(`${short === '<anonymous>' ? '' : short} ${line}:${column}`);
  }
  return frames;
}

function stackOf(run: Program): string {
  try {
    const result = run(tensor([1, 2]));
    const [, found] = result as [Tensor, string | Error];
    return found instanceof Error ? found.stack! : found;
  } catch (error) {
    return (error as Error).stack!;
  }
}

describe.each([
  ['thrown by', throwing],
  ['read in', reading],
])('the stack of an error %s captured code', (_, programs) => {
  it.each(Object.entries(programs))('%s', (_name, program) => {
    const expected = framesOf(stackOf(program));
    expect(expected.length).toBeGreaterThan(0);
    const captured = toStatic(program);
    for (let call = 0; call < 3; call++) {
      expect(framesOf(stackOf(captured)), `call ${call}`).toEqual(expected);
    }
  });
});
