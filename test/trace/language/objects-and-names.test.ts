/** for-in, tagged templates, accessors and arguments in captured functions. */

import { describe, expect, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, weights } from '../same-as-eager.ts';

describe('in a captured function', () => {
  it('for-in over parameters', () => {
    expectSameAsEager(() => ({
      fn: (x: Tensor, parameters: Record<string, Tensor>) => {
        let y = x;
        for (const name in parameters) {
          if (name.startsWith('skip')) continue;
          y = y.mul(parameters[name]!);
        }
        return y.relu();
      },
      args: () => [
        weights([3]),
        { a: weights([3], 1), skipped: values([3], 2), b: weights([3], 3) },
      ],
    }));
  });

  it('a tagged template whose tag is inlined', () => {
    const { breaks } = expectSameAsEager(() => {
      const scaled = (strings: TemplateStringsArray, x: Tensor) => x.mul(strings.length);
      return { fn: (x: Tensor) => scaled`a${x}b`.relu(), args: () => [weights([3])] };
    });
    expect(breaks).toBe(0);
  });

  it('objects with accessors and prototypes', () => {
    expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        const base = { factor: 3 };
        const o = {
          __proto__: base,
          get twice() {
            return x.mul(2);
          },
        } as unknown as { twice: Tensor; factor: number };
        return [o.twice.relu().mul(o.factor), o];
      },
      args: () => [weights([3])],
    }));
  });

  it('arguments', () => {
    expectSameAsEager(() => ({
      fn: function (this: unknown, x: Tensor) {
        // biome-ignore lint/complexity/noArguments: under test
        const all = arguments;
        return x.mul(all.length).add(all[1] as Tensor);
      },
      args: () => [weights([3]), weights([3], 1)],
    }));
  });
});
