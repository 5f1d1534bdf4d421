/** Functions that keep state in classes and prototypes, changed by each call and read by the next, and what others see of it. */

import { it } from 'vitest';
import { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, type World } from '../same-as-eager.ts';
import { expectStatesAsEager, type StatefulFunctions } from './stateful-functions.ts';

// biome-ignore-start lint: plain old ways of writing are what is tested.
const cases: StatefulFunctions = {
  proto: () => {
    const base: any = {
      scale() {
        return this.k;
      },
    };
    const o = Object.create(base);
    o.k = 2;
    return {
      fn: (x, k) => {
        if (k === 3)
          base.scale = function (this: any) {
            return this.k * 10;
          };
        o.k = k;
        return x.mul(o.scale());
      },
      state: () => o.k,
    };
  },
  protoDeleted: () => {
    const base: any = { scale: 2 };
    const root: any = { scale: 5 };
    Object.setPrototypeOf(base, root);
    const o = Object.create(base);
    return {
      fn: (x, k) => {
        if (k === 2) delete base.scale;
        if (k === 4) base.scale = 7;
        return x.mul(o.scale).add('scale' in o ? 1 : 2);
      },
      state: () => [base, root],
    };
  },
  classProto: () => {
    class Layer {
      k = 1;
      run(x: Tensor) {
        return x.mul(this.k);
      }
    }
    class Sub extends Layer {}
    const l = new Sub();
    return {
      fn: (x, k) => {
        if (k === 3)
          Layer.prototype.run = function (y) {
            return y.add(100);
          };
        l.k = k;
        return l.run(x);
      },
      state: () => l.k,
    };
  },
  classStatic: () => {
    class A {
      static rate = 1;
      static get(x: Tensor) {
        return x.mul(this.rate);
      }
    }
    class B extends A {}
    return {
      fn: (x, k) => {
        A.rate = k;
        return B.get(x).add(B.rate);
      },
      state: () => [A.rate, Object.keys(B)],
    };
  },
  classStaticOwn: () => {
    class A {
      static rate = 1;
    }
    class B extends A {}
    return {
      fn: (x, k) => {
        const y = x.mul(B.rate);
        if (k === 2) B.rate = 10;
        A.rate = k;
        return y.add(B.rate);
      },
      state: () => [A.rate, B.rate],
    };
  },
  builtinProto: () => {
    const arrays = Array.prototype as any;
    return {
      fn: (x, k) => {
        arrays.lastOne = function (this: number[]) {
          return this[this.length - 1]! * k;
        };
        const y = x.mul(([1, 2] as any).lastOne()).add('lastOne' in [] ? 1 : 0);
        delete arrays.lastOne;
        return y;
      },
      state: () => 'lastOne' in [],
    };
  },
  objectProto: () => {
    const top = Object.prototype as any;
    return {
      fn: (x, k) => {
        top.zoom = k;
        const o: any = { a: 1 };
        const y = x.mul(o.zoom).add((5 as any).zoom);
        delete top.zoom;
        return y;
      },
      state: () => 'zoom' in {},
    };
  },
  tensorProto: () => {
    const methods = Tensor.prototype as any;
    return {
      fn: (x, k) => {
        methods.twice = function (this: Tensor) {
          return this.mul(2 * k);
        };
        const y = (x as any).twice().add((x.relu() as any).twice());
        delete methods.twice;
        return y;
      },
      state: () => 'twice' in methods,
    };
  },
};
// biome-ignore-end lint: see above.

expectStatesAsEager(cases);

it.each(['numel', 'nelement', 'dim', 'relu'] as const)(
  'a function in place of %s is called as often as eagerly, and by the code that names it alone',
  (name) => {
    // biome-ignore lint/suspicious/noExplicitAny: methods of any type.
    const methods = Tensor.prototype as any;
    const own = methods[name];
    const make = (): World => {
      const seen = { calls: 0 };
      return {
        fn: (x: Tensor) => x.add(x.mul(2)[name]()),
        args: (call) => [values([2 + (call >> 2)])],
        state: () => seen,
        install: (fn) =>
          function (this: unknown, ...given: unknown[]) {
            methods[name] = function (this: Tensor) {
              seen.calls++;
              const found = own.call(this);
              return typeof found === 'number' ? found + 10 : found.neg();
            };
            try {
              return fn.apply(this, given);
            } finally {
              methods[name] = own;
            }
          },
      };
    };
    expectSameAsEager(make, { calls: 6 });
    expectSameAsEager(make, { calls: 6, capture: 'auto', dynamic: true });
  },
);
