import { beforeEach, describe, expect, test } from 'vitest';
import { withCaptureSession } from '../../src/1-capture/capture.ts';
import type { AnyFunction } from '../../src/1-capture/script/captured-function.ts';
import { captured, refused } from './captured.ts';

// Everything in here counts its effects: a capture must leave the count at 0.
let effects = 0;
const effect = (): string => {
  effects++;
  return 'key';
};
const marker = { name: 'marker' };

class Base {
  field = effect();
  counted = effects++;
  constructor(readonly value: unknown = effect()) {
    effects++;
    this.use(marker);
  }
  use(value: unknown, other = effect()) {
    effects++;
    return [marker, value, other];
  }
  static make({ a = effect() } = {}) {
    effects++;
    return [marker, a];
  }
  get seen() {
    effects++;
    return marker;
  }
  set seen(value: unknown) {
    effects++;
    this.#hidden(value);
  }
  #hidden(value: unknown) {
    effects++;
    return [marker, value];
  }
  static hiddenOf(base: Base) {
    return base.#hidden;
  }
  async *stream(first = effect()) {
    effects++;
    yield [marker, first];
  }
}
class Derived extends Base {
  extra = [effects++, marker];
}
class Explicit extends Base {
  more = effects++;
  constructor() {
    effects++;
    super(marker);
  }
}
class FieldsOnly {
  first = [marker, effects++];
}

const awkward: Record<string, AnyFunction> = {
  'default-with-effect': function f(a = effect(), b = effects++) {
    effects++;
    return [marker, a, b];
  },
  destructuring: function f(
    { a = effect(), ...rest },
    [b = effect(), [c] = [effect()], ...d]: [string?, string[]?],
  ) {
    effects++;
    return [marker, a, b, c, d, rest];
  },
  'computed-key-with-call': function f({ [effect()]: a }: Record<string, unknown>) {
    effects++;
    return [marker, a];
  },
  'rest-pattern': function f(...[a = effect(), { b = effect() } = {}]: [string?, { b?: string }?]) {
    effects++;
    return [marker, a, b];
  },
  generator: function* f(a = effect()) {
    effects++;
    yield [marker, a];
  },
  'generator-without-parameters': function* f() {
    effects++;
    yield marker;
  },
  async: async function f(a = effect()) {
    effects++;
    await a;
    return marker;
  },
  'async-generator': async function* f(a = effect()) {
    effects++;
    yield [marker, a];
  },
  'arrow-expression': () => [effects++, marker],
  'arrow-call': () => [effect(), marker],
  'arrow-default': (a = effect()) => [a, effects++, marker],
  'async-arrow': async (a = effect()) => [a, effects++, marker],
  'arrow-making-arrow': () => () => [effects++, marker],
  constructor: Base,
  'derived-without-constructor': Derived,
  'derived-with-constructor': Explicit,
  'fields-only': FieldsOnly,
  method: Base.prototype.use,
  'static-method': Base.make,
  getter: Object.getOwnPropertyDescriptor(Base.prototype, 'seen')?.get as AnyFunction,
  setter: Object.getOwnPropertyDescriptor(Base.prototype, 'seen')?.set as AnyFunction,
  'private-method': Base.hiddenOf(new Base()),
  'async-generator-method': Base.prototype.stream,
  'for-without-head': () => {
    for (; ; effects++) {
      effects++;
      if (marker) break;
    }
  },
  'do-while': () => {
    do {
      effects++;
    } while (!marker);
  },
  'labeled-block-try': () => {
    // biome-ignore lint/suspicious/noConfusingLabels: it is here to be awkward
    outer: {
      try {
        effects++;
        break outer;
      } finally {
        effects++;
        effect();
      }
    }
    return marker;
  },
  'constant-test': () => {
    if (true as boolean) effects++;
    return marker;
  },
  'switch-first': () => {
    switch (effects++) {
      default:
        return marker;
    }
  },
  'for-of-first': () => {
    for (const x of [effects++]) effect() + x;
    return marker;
  },
  'static-block-first': () => {
    class Inner {
      static made = effects++;
      static {
        effects++;
      }
    }
    return [Inner, marker];
  },
  'class-with-computed-call': () => {
    class Inner {
      [effect()]() {}
    }
    return [Inner, marker];
  },
  'declarations-first': () => {
    function inner() {
      return marker;
    }
    // biome-ignore lint/style/useConst: a declaration without a place to stop
    let later: unknown;
    later = effects++;
    return [inner, later];
  },
  'using-finally': function f() {
    try {
      return marker;
    } finally {
      effects++;
    }
  },
};

describe('capture runs nothing of', () => {
  beforeEach(() => {
    effects = 0;
  });
  for (const [name, fn] of Object.entries(awkward)) {
    test(name, () => {
      const { scope } = captured(fn);
      expect(effects).toBe(0);
      expect(scope.get('marker')).toBe(marker);
      expect(effects).toBe(0);
    });
  }
});

test('entry/what a computed key of a parameter would run is refused, not run', () => {
  effects = 0;
  const assigns = ({ [effects++]: a }: Record<number, unknown>) => [a, marker];
  const reads = ({ [marker.name]: a }: Record<string, unknown>) => [a, marker];
  const known = ({ [Symbol.iterator]: a }: Record<symbol, unknown>) => [a, marker];
  expect(refused(assigns).reason).toBe('unsafe-entry');
  expect(captured(reads).scope.get('marker')).toBe(marker); // nothing around it changes, so no call is needed
  expect(captured(known).scope.get('marker')).toBe(marker);
  expect(effects).toBe(0);
});

test('entry/the this of a static block is not taken for that of the function around it', () => {
  effects = 0;
  let changing = 1;
  class Around {
    arrow = () => {
      class Inner {
        static made = effects++;
      }
      return [Inner, this, changing, marker];
    };
    other = () => {
      class Inner {
        static made = effects++;
      }
      return [Inner, changing, marker];
    };
  }
  changing++;
  const { arrow, other } = new Around();
  expect(refused(arrow).reason).toBe('unsafe-entry');
  expect(captured(other).scope.get('changing')).toBe(2);
  expect(effects).toBe(0);
});

test('entry/a derived class keeps its parent', () => {
  captured(Derived);
  expect(Object.getPrototypeOf(Derived)).toBe(Base);
});

test('entry/the functions still work after a capture', () => {
  effects = 0;
  withCaptureSession(() => Object.values(awkward).forEach((fn) => void captured(fn)));
  expect(new Derived().extra).toContain(marker);
  expect((awkward['arrow-call'] as () => unknown)()).toEqual(['key', marker]);
  expect(effects).toBeGreaterThan(0);
});

test('entry/a function can be captured while it runs, and from async code', async () => {
  let calls = 0;
  async function running(depth = calls): Promise<unknown[]> {
    calls++;
    try {
      await null;
      const { scope } = captured(running);
      return [scope.get('calls'), depth, marker];
    } finally {
      calls += 10;
    }
  }
  expect(await running()).toEqual([1, 0, marker]);
  expect(calls).toBe(11);
});

test('entry/optimised code survives a capture', () => {
  let sum = 0;
  const inner = (x: number) => {
    sum += x;
    return sum;
  };
  const hot = (n: number) => {
    for (let i = 0; i < n; i++) inner(1);
    return sum;
  };
  hot(200_000);
  const { scope } = captured(inner);
  expect(scope.get('sum')).toBe(200_000);
  expect(hot(200_000)).toBe(400_000);
  expect(scope.get('sum')).toBe(400_000);
  scope.set('sum', 0);
  expect(hot(3)).toBe(3);
});

test('entry/nothing of the capture stays on the global object', () => {
  captured(() => marker);
  expect(Object.keys(Object.getOwnPropertyDescriptors(globalThis)).join()).not.toMatch(/tostatic/);
});
