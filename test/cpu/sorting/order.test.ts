/** Sorted rows and the first entries of them, beside a comparison of numbers and positions. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compute, release, sample } from '../samples.ts';

const special = [0, -0, 1, -1, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN];
const numbers = {
  float32: fc.oneof(fc.float(), fc.constantFrom(...special), fc.integer({ min: -3, max: 3 })),
  float64: fc.oneof(fc.double(), fc.constantFrom(...special)),
  int32: fc.oneof(
    fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    fc.integer({ min: -3, max: 3 }),
  ),
  uint8: fc.integer({ min: 0, max: 255 }),
};

const cases = fc.record({
  dtype: fc.constantFrom(...(Object.keys(numbers) as (keyof typeof numbers)[])),
  size: fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 60, max: 300 })),
  inner: fc.integer({ min: 1, max: 3 }),
  descending: fc.boolean(),
  part: fc.double({ min: 0, max: 1, noNaN: true }),
});

it('sort agrees with a comparison: NaN is the largest, and equal entries keep their order', () => {
  fc.assert(
    fc.property(
      cases.chain((own) =>
        fc.tuple(
          fc.constant(own),
          fc.array(numbers[own.dtype] as fc.Arbitrary<number>, {
            minLength: own.size * own.inner,
            maxLength: own.size * own.inner,
          }),
        ),
      ),
      ([{ dtype, size, inner, descending, part }, values]) => {
        const x = sample(dtype, [size, inner], (i) => values[i]!);
        const count = Math.max(1, Math.round(size * part));
        const sign = descending ? -1 : 1;
        const places = new Array<number>(count * inner);
        for (let i = 0; i < inner; i++) {
          const at = (k: number) => x.values[k * inner + i]!;
          const order = Array.from({ length: size }, (_, k) => k).sort((a, b) => {
            const [own, other] = [at(a), at(b)];
            if (own === other || (Number.isNaN(own) && Number.isNaN(other))) return a - b;
            if (Number.isNaN(own)) return sign;
            return Number.isNaN(other) ? -sign : sign * (own - other > 0 ? 1 : -1);
          });
          for (let k = 0; k < count; k++) places[k * inner + i] = order[k]!;
        }
        const outputs = [dtype, 'int32' as const].map((each) => ({
          dtype: each,
          shape: [count, inner],
        }));
        const [sorted, indices] = compute('sort', [x], outputs, { dim: 0, count, descending });
        expect(indices).toEqual(places);
        expect(sorted).toEqual(places.map((place, i) => x.values[place * inner + (i % inner)]));
        release(x);
      },
    ),
    { numRuns: 300 },
  );
});
