/** Arrays, and what is like them, of which methods find out by names of the language whether they are special. */

import { describe, expect, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values } from '../same-as-eager.ts';

class Own extends Array<unknown> {}

type Special = unknown[] & Record<string | symbol, unknown>;

const special: Readonly<Record<string, () => Special>> = {
  'with a class of their own': () =>
    Object.assign([1, [2]], { constructor: { [Symbol.species]: Own } }) as unknown as Special,
  'whose class makes arrays': () =>
    Object.assign([1, [2]], { constructor: { [Symbol.species]: undefined } }) as unknown as Special,
  'without a class': () =>
    Object.assign([1, [2]], { constructor: undefined }) as unknown as Special,
  'of a strange class': () => Object.assign([1, [2]], { constructor: 5 }) as unknown as Special,
  'that concat takes whole': () =>
    Object.assign([1, [2]], { [Symbol.isConcatSpreadable]: false }) as unknown as Special,
  'that are objects': () =>
    ({ length: 2, 0: 'a', 1: 'b', [Symbol.isConcatSpreadable]: true }) as unknown as Special,
  // biome-ignore lint/suspicious/noSparseArray: its gap is what is tested.
  'with a gap': () => [1, , 3] as Special,
};

const methods: Readonly<Record<string, (array: Special) => unknown>> = {
  map: (array) => array.map((each) => each),
  filter: (array) => array.filter(() => true),
  slice: (array) => array.slice(0, 1),
  splice: (array) => [array.splice(0, 1), array],
  flat: (array) => array.flat(),
  flatMap: (array) => array.flatMap((each) => [each, each]),
  concat: (array) => array.concat([3]),
  'concat of one': (array) => [0].concat(array as number[]),
  'concat of a primitive': (array) =>
    typeof Array.prototype.concat.call('text' as never, array as never)[0],
  toSpliced: (array) => [...array].with(0, 4),
};

describe.each(Object.keys(special))('arrays %s', (kind) => {
  it.each(Object.keys(methods))('%s', (method) => {
    for (const isMade of [true, false]) {
      const { stats } = expectSameAsEager(() => {
        const outer = special[kind]!();
        const fn = (x: Tensor) => {
          const y = x.add(1);
          try {
            const array = isMade ? special[kind]!() : outer;
            const result = methods[method]!(array);
            return [y, result instanceof Own, Array.isArray(result), result];
          } catch (error) {
            return [y, (error as Error).name];
          }
        };
        return { fn, args: () => [values([3])], state: () => outer };
      });
      expect(stats.graphs).toBeGreaterThan(0);
    }
  });
});
