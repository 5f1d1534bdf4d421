/** The frames of captured code in an error's stack: function, line and column as eager execution has them. */

import { beforeAll, describe, expect, it } from 'vitest';
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

class Fields {
  readonly first = 1;
  readonly second = ((): Tensor => fail(tensor([this.first])))();
}

class Iterated {
  constructor(readonly x: Tensor) {}

  [Symbol.iterator](): Iterator<Tensor> {
    return { next: () => ({ done: false, value: fail(this.x) }) };
  }
}

function* counting(x: Tensor): Generator<Tensor> {
  yield x.mul(3);
  fail(x);
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
  'a generator': (x) => {
    for (const each of counting(x)) x = each.mul(2);
    return x;
  },
  'a generator made inside': (x) => {
    const each = function* (): Generator<Tensor> {
      yield x.mul(2);
      yield fail(x);
    };
    return [...each()];
  },
  'a field': (x) => [x.mul(2), new Fields()],
  'a spread of an object that iterates': (x) => [x.mul(2), ...new Iterated(x)],
  'a destructured object that iterates': (x) => {
    const [first] = new Iterated(x.mul(2));
    return first;
  },
  'a hook': (x) => {
    const own = x.mul(2).requiresGrad_();
    const y = own.mul(2);
    y.registerHook(() => fail(x));
    y.sum().backward();
  },
  'an error of a tagged template': (x) => {
    const tag = (_: TemplateStringsArray): Tensor => fail(x);
    return tag`text`;
  },
};

/** Each calls `next` of an iterator, which throws. */
const iterating: Record<string, Program> = {
  'for with let': (x) => {
    for (let each of new Iterated(x)) each = each.mul(2);
  },
  'for with const': (x) => {
    for (const each of new Iterated(x)) x = each.mul(2);
  },
  'for that assigns': (x) => {
    for (x of new Iterated(x)) x = x.mul(2);
  },
  'a pattern': (x) => {
    const [first, second] = new Iterated(x);
    return first!.add(second!);
  },
  'a rest element': (x) => {
    const [...all] = new Iterated(x);
    return all;
  },
  'a pattern that assigns': (x) => {
    [x] = new Iterated(x) as unknown as [Tensor];
    return x;
  },
  'a parameter': (x) => (([first]: Iterable<Tensor>) => first)(new Iterated(x)),
  'a spread after a break': (x) => [x.mul(broken()), ...new Iterated(x)],
  'a generator after a break': (x) => {
    x = x.mul(broken());
    for (const each of counting(x)) x = each.mul(2);
  },
};

/** Each is called by code of the user's or of the package that captured code calls. */
const nested: Record<string, Program> = {
  'a function made after a break': (x) => {
    x = x.mul(broken());
    const inner = (own: Tensor): Tensor => fail(own.mul(2));
    return [1].map(() => inner(x));
  },
  'a property of nothing in a callback': (x) => {
    x = x.mul(broken());
    return [1].map((each) => {
      x = x.mul(each);
      return missing.rate;
    });
  },
  'a throw in a callback': (x) => {
    x = x.mul(broken());
    [1].forEach((each) => {
      x = x.mul(each);
      if (x.rank > 0) throw new Error('thrown');
    });
  },
  'a class made inside': (x) => {
    class Inner {
      readonly own: Tensor = x.mul(broken());
      readonly other = fail(this.own);
    }
    return new Inner();
  },
  'a method made inside': (x) => {
    const made = {
      scale: broken(),
      run(own: Tensor) {
        return fail(own);
      },
      next() {
        return this.run(x.mul(this.scale));
      },
    };
    return made.next();
  },
  'a getter made inside': (x) => {
    x = x.mul(broken());
    return {
      get own() {
        return fail(x);
      },
    }.own;
  },
  'a callback that recurses': (x) => {
    x = x.mul(broken());
    const down = (depth: number): Tensor =>
      depth > 0 ? [depth].map((own) => down(own - 1))[0]! : fail(x);
    return down(3);
  },
  'a captured function that captured code calls': (x) => {
    const inner = x.mul(broken());
    return captured(inner);
  },
  'an error that two functions catch': (x) => {
    const inner = (): Tensor => {
      try {
        return fail(x.mul(broken()));
      } catch (error) {
        throw error as Error;
      }
    };
    try {
      return inner();
    } finally {
      x = x.mul(2);
    }
  },
};

const captured = toStatic(function twice(x: Tensor): Tensor {
  return [1].map(() => fail(x.mul(broken())))[0]!;
});

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

// Frames of the package count, too.
beforeAll(() => {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 100;
  return () => {
    Error.stackTraceLimit = stackTraceLimit;
  };
});

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
    // The receiver's type before initializers and getters is the engine's guess.
    const short = name
      .replace(/ \[as .*\]$/, '')
      .replace(/^(Function|Layer|\w+\.(?=<|get ))\.?/, '');
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
  ['iterated by', iterating],
  ['that functions pass to', nested],
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
