/** Max pooling of volumes, computed with the 2-d ops: first in each plane, then along the depth. */

import { formatSpec } from '../device/tensor-meta.ts';
import { ShapeError } from '../errors/errors.ts';
import { add, mul } from '../ops/arithmetic/arithmetic.ts';
import { floorDivide } from '../ops/arithmetic/division.ts';
import { adaptiveMaxPool2d, type MaxPoolOptions, maxPool2d } from '../ops/convolution/max-pool.ts';
import { gather } from '../ops/indexing/gather.ts';
import { reshape } from '../ops/movement/movement.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { expectArguments, expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { arrayOf, count, either, flag, orNull, perDimension } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { calledAs } from './called-as.ts';

type Triple = readonly [number, number, number];
export type MaxPool3dOptions = MaxPoolOptions<number | Triple>;

/** Values, and int32 positions in the volume. */
type ValuesAndIndices = [values: Tensor, indices: Tensor];

const tripleOf = (value: number | Triple): Triple =>
  typeof value === 'number' ? [value, value, value] : value;

const kernelKinds = { kernel: perDimension(count(1)) };

const poolKinds: OptionKinds<MaxPool3dOptions> = {
  stride: perDimension(count(1)),
  padding: perDimension(count(0)),
  dilation: perDimension(count(1)),
  ceilMode: flag,
  returnIndices: flag,
};

/** Returns the last three sizes. Throws ShapeError for anything but [n, c, d, h, w] or [c, d, h, w]. */
function volumeOf(name: string, x: Tensor): Triple {
  if (x.rank === 4 || x.rank === 5) return x.shape.slice(-3) as unknown as Triple;
  throw new ShapeError({
    what: `${name}: not the right dimensions`,
    given: formatSpec(x),
    expected: '[n, c, d, h, w] or [c, d, h, w]',
    remedy: 'unsqueeze() or reshape the tensor',
  });
}

type PlanePool = (x: Tensor) => ValuesAndIndices;

/** Pools the planes [d, h, w] with the first function, and its result as [1, d, h' · w'] with the second. */
function inTwoSteps(
  x: Tensor,
  volume: Triple,
  ofPlane: PlanePool,
  ofDepth: PlanePool,
): ValuesAndIndices {
  const [d, h, w] = volume;
  const lead = x.shape.slice(0, -3);
  const volumes = lead.reduce((a, b) => a * b, 1);
  const [inPlane, places] = ofPlane(reshape(x, [volumes, d, h, w]));
  const [oh, ow] = inPlane.shape.slice(2) as [number, number];
  const [values, chosen] = ofDepth(reshape(inPlane, [volumes, 1, d, oh * ow]));
  const depth = values.shape[2]!;
  const rows = reshape(chosen, [volumes, depth * oh * ow]);
  const ofRows = gather(reshape(places, [volumes, d * oh * ow]), 1, rows);
  const indices = add(mul(floorDivide(rows, oh * ow), h * w), ofRows);
  const shape = [...lead, depth, oh, ow];
  return [reshape(values, shape), reshape(indices, shape)];
}

/**
 * The maximum of each window of [n, c, d, h, w] or [c, d, h, w]; the first element wins ties. The default stride is the
 * window size. With `returnIndices`, returns `[values, int32 positions in the volume]`.
 */
export function maxPool3d(
  x: Tensor,
  kernel: number | Triple,
  options: MaxPool3dOptions & { readonly returnIndices: true },
): ValuesAndIndices;
export function maxPool3d(
  x: Tensor,
  kernel: number | Triple,
  options?: MaxPool3dOptions & { readonly returnIndices?: false },
): Tensor;
export function maxPool3d(
  x: Tensor,
  kernel: number | Triple,
  options: MaxPool3dOptions = {},
): Tensor | ValuesAndIndices {
  expectTensors('maxPool3d', x);
  expectArguments('maxPool3d', { kernel }, kernelKinds);
  expectOptions('maxPool3d', options, poolKinds);
  const { stride = kernel, padding = 0, dilation = 1, ceilMode = false } = options;
  const volume = volumeOf('maxPool3d', x);
  const [kd, ...planeKernel] = tripleOf(kernel);
  const [step, ...planeStep] = tripleOf(stride);
  const [border, ...planeBorder] = tripleOf(padding);
  const [spread, ...planeSpread] = tripleOf(dilation);
  return calledAs('maxPool3d', () => {
    const found = inTwoSteps(
      x,
      volume,
      (planes) =>
        maxPool2d(planes, planeKernel, {
          stride: planeStep,
          padding: planeBorder,
          dilation: planeSpread,
          ceilMode,
          returnIndices: true,
        }),
      (columns) =>
        maxPool2d(columns, [kd, 1], {
          stride: [step, 1],
          padding: [border, 0],
          dilation: [spread, 1],
          ceilMode,
          returnIndices: true,
        }),
    );
    return options.returnIndices ? found : found[0];
  });
}

type Sizes = number | readonly [number | null, number | null, number | null];

const adaptiveKinds = { size: either(count(0), arrayOf(orNull(count(0)), 3)) };

/**
 * The maxima of equal parts of the last three dimensions; null keeps a size. With `returnIndices`, returns
 * `[values, int32 positions in the volume]`.
 */
export function adaptiveMaxPool3d(
  x: Tensor,
  size: Sizes,
  options: { readonly returnIndices: true },
): ValuesAndIndices;
export function adaptiveMaxPool3d(
  x: Tensor,
  size: Sizes,
  options?: { readonly returnIndices?: false },
): Tensor;
export function adaptiveMaxPool3d(
  x: Tensor,
  size: Sizes,
  options: { readonly returnIndices?: boolean } = {},
): Tensor | ValuesAndIndices {
  expectTensors('adaptiveMaxPool3d', x);
  expectArguments('adaptiveMaxPool3d', { size }, adaptiveKinds);
  expectOptions('adaptiveMaxPool3d', options, { returnIndices: flag });
  const volume = volumeOf('adaptiveMaxPool3d', x);
  const [depth, ...plane] = typeof size === 'number' ? [size, size, size] : size;
  return calledAs('adaptiveMaxPool3d', () => {
    const found = inTwoSteps(
      x,
      volume,
      (planes) => adaptiveMaxPool2d(planes, plane, { returnIndices: true }),
      (columns) => adaptiveMaxPool2d(columns, [depth, null], { returnIndices: true }),
    );
    return options.returnIndices ? found : found[0];
  });
}
