import { contiguousStrides, type Shape, sizeOf } from '../../../spec/shape.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { collapse, type Loops } from './loops.ts';

export type ReductionKind = 'sum' | 'prod' | 'max' | 'min';

/** The kept and the reduced dimensions, each as a loop nest over the input. */
interface Reduction {
  /** Operands: input, output. */
  readonly kept: Loops;
  /** Operands: input, and a contiguous tensor of its shape. */
  readonly reduced: Loops;
}

export function reductionOver(x: TensorMeta, dims: readonly number[]): Reduction {
  const isReduced = x.shape.map((_, d) => dims.includes(d));
  const whole = contiguousStrides(x.shape);
  const keptShape = x.shape.filter((_, d) => !isReduced[d]);
  const keptStrides = x.strides.filter((_, d) => !isReduced[d]);
  return {
    // The output is contiguous: its dimensions are the kept ones, possibly with 1s between them.
    kept: collapse(keptShape, [keptStrides, contiguousStrides(keptShape)]),
    reduced: collapse(
      x.shape.filter((_, d) => isReduced[d]),
      [x.strides, whole].map((strides) => strides.filter((_, d) => isReduced[d])),
    ),
  };
}

/** One dimension taken out of a nest for the kernel's loop; strides in bytes. */
export interface Inner {
  readonly size: number;
  readonly strides: readonly number[];
  readonly outer: Loops;
}

/** Returns the dimension whose elements are adjacent in operand 0, or else the last. */
export function adjacentDim({ shape, strides }: Loops): number {
  const adjacent = strides[0]!.indexOf(1);
  return adjacent < 0 ? shape.length - 1 : adjacent;
}

/** Takes dimension `at` out of loops whose elements have `size` bytes. */
export function takeInner({ shape, strides }: Loops, size: number, at: number): Inner {
  const bytes = strides.map((steps) => steps.map((step) => step * size));
  return {
    size: shape[at] ?? 1,
    strides: bytes.map((steps) => steps[at] ?? 0),
    outer: { shape: shape.toSpliced(at, 1), strides: bytes.map((steps) => steps.toSpliced(at, 1)) },
  };
}

/** Returns the dimensions of `x` that broadcasting `like` to it repeats. */
export function broadcastDims(x: TensorMeta, like: TensorMeta): number[] {
  const lead = x.shape.length - like.shape.length;
  const dims: number[] = [];
  x.shape.forEach((size, d) => {
    if (d < lead || (like.shape[d - lead] === 1 && size !== 1)) dims.push(d);
  });
  return dims;
}

/** Describes a contiguous tensor as rows along one dimension: `outer` × `size` × `stride` elements. */
export function alongDim(shape: Shape, dim: number) {
  return {
    size: shape[dim]!,
    stride: sizeOf(shape.slice(dim + 1)),
    outer: sizeOf(shape.slice(0, dim)),
  };
}
