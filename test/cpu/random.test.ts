/** Random numbers of the generated kernel: those of the scalar one, wherever a draw begins and ends. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { KernelFactory } from '../../runtime/device/cpu/core/kernel.ts';
import { cpu } from '../../runtime/device/cpu/cpu-device.ts';
import { normal, uniform } from '../../runtime/device/cpu/random.ts';
import {
  normal as scalarNormal,
  uniform as scalarUniform,
} from '../../runtime/device/cpu/scalar/fill.ts';
import { blank, release } from './samples.ts';

function drawn(kernel: KernelFactory, size: number, seed: number, offset: number): number[] {
  const out = blank('float32', [size]);
  kernel([], [out.meta], { shape: [size], dtype: 'float32', seed, offset })([], [out.operand]);
  const numbers = [...cpu.downloadSync(out.meta, out.operand)];
  release(out);
  return numbers;
}

/** The lower word of the counter wraps around after 2^32 blocks of four numbers. */
const offsets = fc.oneof(
  fc.nat(100),
  fc.integer({ min: 2 ** 34 - 70, max: 2 ** 34 + 10 }),
  fc.integer({ min: 0, max: 2 ** 50 }),
);

it.each([
  ['uniform', uniform, scalarUniform],
  ['normal', normal, scalarNormal],
] as const)('%s draws the numbers of the scalar kernel', (_name, kernel, scalar) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 90 }), fc.maxSafeNat(), offsets, (size, seed, offset) => {
      const numbers = drawn(kernel, size, seed, offset);
      expect(numbers).toEqual(drawn(scalar, size, seed, offset));
    }),
    { numRuns: 300 },
  );
});
