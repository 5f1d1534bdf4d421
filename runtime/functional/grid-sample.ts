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
import { arrayOf, count, either, flag, oneOf } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { calledAs } from './called-as.ts';

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
  const dims = x.rank - 2;
  const isKnown = dims === 2 || dims === 3;
  const fits = grid.rank === x.rank && grid.shape[x.rank - 1] === dims;
  if (isKnown && fits && x.shape[0] === grid.shape[0]) return;
  throw new ShapeError({
    what: "gridSample: image and grid don't fit",
    given: `${formatSpec(x)} and ${formatSpec(grid)}`,
    expected:
      '[n, c, h, w] and [n, h′, w′, 2] with x and y of each pixel, or volumes [n, c, d, h, w] and [n, d′, h′, w′, 3]',
    remedy: 'make the grid with affineGrid(theta, [n, c, h, w])',
  });
}

const isHalf = ({ dtype }: Tensor): boolean => dtype === 'float16' || dtype === 'bfloat16';

/** A pixel's row or column beside a position, and its factor. */
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
 * Samples `x` [n, c, h, w] at the positions of `grid` [n, h', w', 2], x and y from −1 to 1: [n, c, h', w']; a volume
 * [n, c, d, h, w] at those of [n, d', h', w', 3]. Throws ShapeError for other shapes. As in PyTorch, `bicubic` pads the
 * pixels that it reads, other modes the positions.
 */
export function gridSample(x: Tensor, grid: Tensor, options: GridSampleOptions = {}): Tensor {
  expectTensors('gridSample', x, grid);
  expectOptions('gridSample', options, kinds);
  const { mode = 'bilinear', alignCorners = false } = options;
  expectFit(x, grid);
  if (isHalf(x) || isHalf(grid)) {
    // Positions in half precision would miss pixels.
    return calledAs('gridSample', () =>
      cast(gridSample(cast(x, 'float32'), cast(grid, 'float32'), options), x.dtype),
    );
  }
  const [n, c, ...sizes] = x.shape as [number, number, ...number[]];
  const out = grid.shape.slice(1, -1);
  const [pixels, count] = [sizes, out].map((each) => each.reduce((a, b) => a * b, 1)) as [
    number,
    number,
  ];
  return calledAs('gridSample', () => {
    const flat = reshape(x, [n, c, pixels]);
    // The grid names the last axis first.
    const positions = sizes.map((size, axis) => {
      const unit = add(select(grid, -1, sizes.length - 1 - axis), 1);
      const position = alignCorners ? mul(unit, (size - 1) / 2) : sub(mul(unit, size / 2), 0.5);
      return mode === 'bicubic' ? position : padded(position, size, options);
    });
    const pixel = (places: readonly Tensor[]) => {
      const clamped = places.map((position, axis) =>
        clamp(position, { min: 0, max: sizes[axis]! - 1 }),
      );
      const at = clamped.reduce((above, each, axis) => add(mul(above, sizes[axis]!), each));
      const index = cast(reshape(at.detach(), [n, 1, count]), 'int32');
      const found = gather(flat, 2, expand(index, [n, c, count]));
      const isInside = places
        .map((position, axis) => cast(eq(clamped[axis]!, position), x.dtype))
        .reduce((all, each) => mul(all, each));
      return where(unsqueeze(isInside, 1), reshape(found, [n, c, ...out]), 0);
    };
    if (mode === 'nearest') return pixel(positions.map((position) => round(position)));
    const taps = positions.map((position, axis): Tap[] =>
      mode === 'bilinear'
        ? linearTaps(position)
        : cubicTaps(position).map(([position, factor]) => [
            padded(position, sizes[axis]!, options),
            factor,
          ]),
    );
    const sampled = (places: readonly Tensor[], factor: Tensor | null): Tensor => {
      const tap = taps[places.length];
      if (!tap) return mul(pixel(places), unsqueeze(factor!, 1));
      return sumOf(
        tap.map(([position, share]) =>
          sampled([...places, position], factor ? mul(factor, share) : share),
        ),
      );
    };
    return sampled([], null);
  });
}

const sumOf = (parts: readonly Tensor[]): Tensor => parts.reduce((total, part) => add(total, part));

const sizeKinds = { size: either(arrayOf(count(0), 4), arrayOf(count(0), 5)) };

/**
 * Returns the grid [n, h, w, 2] for `gridSample` that maps an output of `size` [n, c, h, w] by the affine matrices
 * `theta` [n, 2, 3]; that of volumes [n, c, d, h, w], by matrices [n, 3, 4], is [n, d, h, w, 3].
 */
export function affineGrid(
  theta: Tensor,
  size: readonly number[],
  options: { readonly alignCorners?: boolean } = {},
): Tensor {
  expectTensors('affineGrid', theta);
  expectArguments('affineGrid', { size }, sizeKinds);
  expectOptions('affineGrid', options, { alignCorners: flag });
  const n = size[0]!;
  const out = size.slice(2);
  const dims = out.length;
  if (theta.rank !== 3 || theta.shape.join() !== [n, dims, dims + 1].join()) {
    throw new ShapeError({
      what: "affineGrid: maps and size don't fit",
      given: `${formatSpec(theta)} for a size [${size.join()}]`,
      expected: `[${n}, ${dims}, ${dims + 1}]`,
      remedy: `pass a matrix [${dims}, ${dims + 1}] for each image`,
    });
  }
  return calledAs('affineGrid', () => {
    const centers = (count: number) => {
      const end = options.alignCorners ? 1 : (count - 1) / count;
      return deviceGuard(theta.device, () =>
        count === 1
          ? mul(ones([1], { dtype: theta.dtype }), 0)
          : linspace(-end, end, count, { dtype: theta.dtype }),
      );
    };
    const along = out.map((length, axis) => {
      const shape = out.map((_, d) => (d === axis ? length : 1));
      return expand(reshape(centers(length), shape), out);
    });
    const all = deviceGuard(theta.device, () => ones(out, { dtype: theta.dtype }));
    const pixels = out.reduce((a, b) => a * b, 1);
    const places = reshape(stack([...along.reverse(), all], dims), [1, pixels, dims + 1]);
    const found = matmul(expand(places, [n, pixels, dims + 1]), transpose(theta, 1, 2));
    return reshape(found, [n, ...out, dims]);
  });
}
