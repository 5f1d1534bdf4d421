import { deviceGuard } from '../device/current.ts';
import { formatSpec } from '../device/tensor-meta.ts';
import { ShapeError } from '../errors/errors.ts';
import { expand } from '../ops/core/broadcast.ts';
import { cast } from '../ops/core/cast.ts';
import { gather } from '../ops/indexing/gather.ts';
import { ones } from '../ops/movement/create.ts';
import { stack } from '../ops/movement/joining.ts';
import { reshape, select, transpose, unsqueeze } from '../ops/movement/movement.ts';
import { linspace } from '../ops/movement/ranges.ts';
import {
  abs,
  add,
  clamp,
  eq,
  floor,
  mul,
  remainder,
  round,
  rsub,
  sub,
  where,
} from '../ops/pointwise/pointwise.ts';
import { matmul } from '../ops/products/matmul.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { expectArguments, expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { arrayOf, count, flag, oneOf } from '../options/option-kinds.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';

export interface GridSampleOptions {
  /** `bilinear` by default. */
  readonly mode?: 'bilinear' | 'nearest' | 'bicubic';
  /** The values outside the image: `zeros` by default, the nearest `border` pixel, or the mirrored image. */
  readonly paddingMode?: 'zeros' | 'border' | 'reflection';
  /** Whether −1 and 1 are the centers of the corner pixels rather than their outer edges. */
  readonly alignCorners?: boolean;
}

const kinds: OptionKinds<GridSampleOptions> = {
  mode: oneOf('bilinear', 'nearest', 'bicubic'),
  paddingMode: oneOf('zeros', 'border', 'reflection'),
  alignCorners: flag,
};

function expectFit(x: Tensor, grid: Tensor): void {
  const fits = x.rank === 4 && grid.rank === 4 && grid.shape[3] === 2;
  if (fits && x.shape[0] === grid.shape[0]) return;
  throw new ShapeError({
    what: "gridSample: image and grid don't fit",
    given: `${formatSpec(x)} and ${formatSpec(grid)}`,
    expected: '[n, c, h, w] and [n, h′, w′, 2] with x and y of each pixel',
    remedy: 'make the grid with affineGrid(theta, [n, c, h, w])',
  });
}

/** The row or column of a pixel next to a position, and its weight. */
type Tap = readonly [place: Tensor, factor: Tensor];

/** The two pixels around each position. */
function linearTaps(position: Tensor): Tap[] {
  const first = floor(position);
  const share = sub(position, first);
  return [
    [first, rsub(share, 1)],
    [add(first, 1), share],
  ];
}

/** The four pixels around each position, weighted by cubic convolution (Keys, 1981) with a = −0.75. */
function cubicTaps(position: Tensor): Tap[] {
  const first = floor(position);
  const share = sub(position, first);
  const cubic = (t: Tensor, [a, b, c, d]: readonly [number, number, number, number]): Tensor =>
    add(mul(add(mul(add(mul(t, a), b), t), c), t), d);
  const inner = (t: Tensor) => cubic(t, [1.25, -2.25, 0, 1]);
  const outer = (t: Tensor) => cubic(t, [-0.75, 3.75, -6, 3]);
  return [
    [sub(first, 1), outer(add(share, 1))],
    [first, inner(share)],
    [add(first, 1), inner(rsub(share, 1))],
    [add(first, 2), outer(rsub(share, 2))],
  ];
}

/** Maps pixel positions outside an image of this size into it, by the padding mode; `zeros` leaves them outside. */
function padded(
  position: Tensor,
  size: number,
  { paddingMode = 'zeros', alignCorners = false }: GridSampleOptions,
): Tensor {
  if (paddingMode === 'zeros') return position;
  const inside = { min: 0, max: size - 1 };
  if (paddingMode === 'border') return clamp(position, inside);
  // Reflects at the centers of the outermost pixels, or at their outer edges.
  const first = alignCorners ? 0 : -0.5;
  const span = size - 1 - 2 * first;
  if (span === 0) return mul(position, 0);
  const period = remainder(abs(sub(position, first)), 2 * span);
  return clamp(rsub(abs(sub(period, span)), span + first), inside);
}

/**
 * Samples `x` [n, c, h, w] at the positions of `grid` [n, h', w', 2], x and y from −1 to 1: [n, c, h', w']. Throws
 * ShapeError for other shapes. As in PyTorch, `bicubic` pads the pixels that it reads; other modes pad the positions.
 */
export function gridSample(x: Tensor, grid: Tensor, options: GridSampleOptions = {}): Tensor {
  expectTensors('gridSample', x, grid);
  expectOptions('gridSample', options, kinds);
  const { mode = 'bilinear', alignCorners = false } = options;
  expectFit(x, grid);
  const [n, c, h, w] = x.shape as [number, number, number, number];
  const [oh, ow] = grid.shape.slice(1) as [number, number];
  return tidy(() => {
    const flat = reshape(x, [n, c, h * w]);
    const along = (axis: number, size: number) => {
      const unit = add(select(grid, 3, axis), 1);
      const place = alignCorners ? mul(unit, (size - 1) / 2) : sub(mul(unit, size / 2), 0.5);
      return mode === 'bicubic' ? place : padded(place, size, options);
    };
    const [column, row] = [along(0, w), along(1, h)];
    const pixel = (rows: Tensor, columns: Tensor) => {
      const [r, k] = [clamp(rows, { min: 0, max: h - 1 }), clamp(columns, { min: 0, max: w - 1 })];
      const index = cast(reshape(add(mul(r, w), k), [n, 1, oh * ow]).detach(), 'int32');
      const found = reshape(gather(flat, 2, expand(index, [n, c, oh * ow])), [n, c, oh, ow]);
      const isInside = mul(cast(eq(r, rows), x.dtype), cast(eq(k, columns), x.dtype));
      return where(unsqueeze(isInside, 1), found, 0);
    };
    if (mode === 'nearest') return pixel(round(row), round(column));
    const taps = (position: Tensor, size: number): Tap[] =>
      mode === 'bilinear'
        ? linearTaps(position)
        : cubicTaps(position).map(([place, factor]) => [padded(place, size, options), factor]);
    const columns = taps(column, w);
    return sumOf(
      taps(row, h).map(([rows, down]) =>
        sumOf(
          columns.map(([places, right]) =>
            mul(pixel(rows, places), unsqueeze(mul(down, right), 1)),
          ),
        ),
      ),
    );
  });
}

const sumOf = (parts: readonly Tensor[]): Tensor => parts.reduce((total, part) => add(total, part));

const sizeKinds = { size: arrayOf(count(0), 4) };

/**
 * Returns the grid [n, h, w, 2] for `gridSample` that maps an output of `size` [n, c, h, w] by the affine matrices
 * `theta` [n, 2, 3].
 */
export function affineGrid(
  theta: Tensor,
  size: readonly number[],
  options: { readonly alignCorners?: boolean } = {},
): Tensor {
  expectTensors('affineGrid', theta);
  expectArguments('affineGrid', { size }, sizeKinds);
  expectOptions('affineGrid', options, { alignCorners: flag });
  const [n, , h, w] = size as [number, number, number, number];
  if (theta.rank !== 3 || theta.shape[0] !== n || theta.shape[1] !== 2 || theta.shape[2] !== 3) {
    throw new ShapeError({
      what: "affineGrid: maps and size don't fit",
      given: `${formatSpec(theta)} for a size [${size.join()}]`,
      expected: `[${n}, 2, 3]`,
      remedy: 'pass a matrix [2, 3] for each image',
    });
  }
  return tidy(() => {
    const centers = (count: number) => {
      const end = options.alignCorners ? 1 : (count - 1) / count;
      return deviceGuard(theta.device, () =>
        count === 1
          ? mul(ones([1], { dtype: theta.dtype }), 0)
          : linspace(-end, end, count, { dtype: theta.dtype }),
      );
    };
    const columns = expand(unsqueeze(centers(w), 0), [h, w]);
    const rows = expand(unsqueeze(centers(h), 1), [h, w]);
    const all = deviceGuard(theta.device, () => ones([h, w], { dtype: theta.dtype }));
    const places = reshape(stack([columns, rows, all], 2), [1, h * w, 3]);
    const found = matmul(expand(places, [n, h * w, 3]), transpose(theta, 1, 2));
    return reshape(found, [n, h, w, 2]);
  });
}
