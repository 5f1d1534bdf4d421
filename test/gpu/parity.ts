import { expect } from 'vitest';
import { deviceGuard } from '../../runtime/device/current.ts';
import type { Device } from '../../runtime/device/device.ts';
import { softwareNames } from '../../runtime/device/gpu/core/adapter.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import '../../runtime/device/cpu/cpu-device.ts';
import '../../runtime/tensor-methods/methods.ts';
import { deviceNamed } from '../../runtime/device/current.ts';
import { expectSame } from '../expect-same.ts';

export interface Tolerance {
  readonly relative?: number;
  readonly absolute?: number;
}

const shown = (value: number) => (Object.is(value, -0) ? '-0' : String(value));

/** NaN equals NaN, infinities and zeros equal themselves, sign included, finite numbers lie within the tolerance. */
export function expectClose(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  { relative = 1e-5, absolute = 1e-6 }: Tolerance = {},
): void {
  expect(actual.length).toBe(expected.length);
  for (let i = 0; i < expected.length; i++) {
    const [a, e] = [actual[i]!, expected[i]!];
    if (Object.is(a, e)) continue;
    const close = a !== e && Math.abs(a - e) <= absolute + relative * Math.abs(e);
    if (!close) expect.fail(`element ${i}: ${shown(a)} on the GPU, ${shown(e)} expected`);
  }
}

/**
 * Numbers of the same kernels, fused or not: the same bits on a software adapter. The compiler of a GPU may contract a
 * product and a sum into one operation, which fused kernels have more of.
 */
export function expectSameKernels(
  { adapter }: { readonly adapter: string },
  actual: readonly ArrayLike<number>[],
  expected: readonly ArrayLike<number>[],
): void {
  expect(actual.length).toBe(expected.length);
  actual.forEach((values, i) => {
    if (softwareNames.test(adapter)) expectSame(Array.from(values), Array.from(expected[i]!));
    else expectClose(values, expected[i]!);
  });
}

async function runOn(device: Device | string, body: () => Tensor) {
  const result = deviceGuard(device, () => tidy(body));
  const { dtype, shape } = result;
  const data = result.data();
  result.dispose();
  return { dtype, shape, data: await data };
}

/** Runs `body`, which makes its own inputs, on both devices and compares. */
export async function expectParity(
  gpu: Device,
  body: () => Tensor,
  tolerance?: Tolerance,
): Promise<void> {
  const expected = await runOn(deviceNamed('cpu'), body);
  const actual = await runOn(gpu, body);
  expect(actual.shape).toEqual(expected.shape);
  expect(actual.dtype).toBe(expected.dtype);
  expect(actual.data.constructor).toBe(expected.data.constructor);
  expectClose(actual.data, expected.data, tolerance);
}
