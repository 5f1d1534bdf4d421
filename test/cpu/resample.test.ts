/** Interpolation and average pooling: generated kernels have the bits of those in JavaScript. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { resample, resampleGrad } from '../../runtime/device/cpu/scalar/resample.ts';
import type { Attrs } from '../../runtime/device/kernel-op.ts';
import { compute, noise, release, sample } from './samples.ts';

const step = fc.double({ min: 0, max: 3, noNaN: true });
const modes = fc.oneof(
  fc.record({ mode: fc.constantFrom('nearest', 'nearest-exact'), step }),
  fc.record({ mode: fc.constantFrom('linear', 'cubic'), step, alignCorners: fc.boolean() }),
  fc.constant({ mode: 'area' }),
  fc.record({
    mode: fc.constant('window'),
    kernel: fc.integer({ min: 1, max: 5 }),
    stride: fc.integer({ min: 1, max: 3 }),
    padding: fc.nat(2),
    divisor: fc.constantFrom(-1, 0, 3),
  }),
);

const cases = fc.record({
  shape: fc.array(fc.integer({ min: 1, max: 11 }), { minLength: 1, maxLength: 4 }),
  dim: fc.nat(3),
  size: fc.integer({ min: 1, max: 13 }),
  how: modes,
});

it('resample and its gradient', () => {
  fc.assert(
    fc.property(cases, ({ shape, dim: wanted, size, how }) => {
      const dim = wanted % shape.length;
      const attrs = { dim, size, ...how } as Attrs;
      const resized = shape.map((own, d) => (d === dim ? size : own));
      const [x, dy] = [sample('float32', shape, noise(1)), sample('float32', resized, noise(2))];
      const [out, like] = [resized, shape].map((each) => [
        { dtype: 'float32' as const, shape: each },
      ]);
      const forward = compute('resample', [x], out!, attrs);
      expect(forward).toEqual(compute(resample, [x], out!, attrs));
      const backward = compute('resampleGrad', [dy, x], like!, attrs);
      expect(backward).toEqual(compute(resampleGrad, [dy, x], like!, attrs));
      release(x, dy);
    }),
    { numRuns: 300 },
  );
});
