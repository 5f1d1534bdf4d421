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
import { add, clamp, eq, floor, mul, round, rsub, sub, where } from '../ops/pointwise/pointwise.ts';
import { matmul } from '../ops/products/matmul.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { expectArguments, expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { arrayOf, count, flag, oneOf } from '../options/option-kinds.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';

export interface GridSampleOptions {
  /** `bilinear` by default. */
  readonly mode?: 'bilinear' | 'nearest';
  /** Values outside the image: `zeros` by default, or the nearest `border` pixel. */
  readonly paddingMode?: 'zeros' | 'border';
  /** Whether −1 and 1 are the centers of the corner pixels rather than their outer edges. */
  readonly alignCorners?: boolean;
}

const kinds: OptionKinds<GridSampleOptions> = {
  mode: oneOf('bilinear', 'nearest'),
  paddingMode: oneOf('zeros', 'border'),
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

/** Samples `x` [n, c, h, w] at the positions of `grid` [n, h', w', 2], x and y from −1 to 1: [n, c, h', w']. */
export function gridSample(x: Tensor, grid: Tensor, options: GridSampleOptions = {}): Tensor {
  expectTensors('gridSample', x, grid);
  expectOptions('gridSample', options, kinds);
  const { mode = 'bilinear', paddingMode = 'zeros', alignCorners = false } = options;
  expectFit(x, grid);
  const [n, c, h, w] = x.shape as [number, number, number, number];
  const [oh, ow] = grid.shape.slice(1) as [number, number];
  return tidy(() => {
    const flat = reshape(x, [n, c, h * w]);
    const along = (axis: number, size: number) => {
      const unit = add(select(grid, 3, axis), 1);
      const place = alignCorners ? mul(unit, (size - 1) / 2) : sub(mul(unit, size / 2), 0.5);
      return paddingMode === 'border' ? clamp(place, { min: 0, max: size - 1 }) : place;
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
    const [top, left] = [floor(row), floor(column)];
    const [down, right] = [sub(row, top), sub(column, left)];
    const [up, near] = [rsub(down, 1), rsub(right, 1)];
    const weighted = (rows: Tensor, columns: Tensor, factor: Tensor) =>
      mul(pixel(rows, columns), unsqueeze(factor, 1));
    return add(
      add(weighted(top, left, mul(up, near)), weighted(top, add(left, 1), mul(up, right))),
      add(
        weighted(add(top, 1), left, mul(down, near)),
        weighted(add(top, 1), add(left, 1), mul(down, right)),
      ),
    );
  });
}

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
