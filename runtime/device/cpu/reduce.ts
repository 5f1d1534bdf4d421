import { dtypes } from '../../tensor/dtype.ts';
import type { TensorMeta } from '../../tensor/meta.ts';
import { sizeOf } from '../../tensor/shape.ts';
import type { Launch } from '../device.ts';
import { addressOf, type KernelFactory } from './kernel.ts';
import type { Loops } from './loops.ts';
import { broadcastDims, type Reduction, type ReductionKind, reductionOver } from './reduction.ts';
import * as scalar from './scalar/reduce.ts';
import { hasSimd } from './wasm/module-builder.ts';
import { reduceKernels } from './wasm/reduce-kernels.ts';

/** One dimension that the kernel loops over, taken out of a nest; strides in bytes. */
interface Inner {
  readonly size: number;
  readonly strides: readonly number[];
  readonly outer: Loops;
}

/** Takes out the dimension whose elements are adjacent in operand 0, or else the last. */
function takeInner(loops: Loops, size: number): Inner {
  const bytes = loops.strides.map((strides) => strides.map((stride) => stride * size));
  const rank = loops.shape.length;
  if (rank === 0) {
    return { size: 1, strides: bytes.map(() => 0), outer: { shape: [], strides: bytes } };
  }
  const adjacent = loops.strides[0]!.indexOf(1);
  const at = adjacent < 0 ? rank - 1 : adjacent;
  const others = <T>(list: readonly T[]) => list.filter((_, d) => d !== at);
  return {
    size: loops.shape[at]!,
    strides: bytes.map((strides) => strides[at]!),
    outer: { shape: others(loops.shape), strides: bytes.map(others) },
  };
}

function bindReduction(
  { kept, reduced }: Reduction,
  kind: ReductionKind,
  dtype: 'float32' | 'float64',
  goesOn = false,
): Launch {
  const kernel = reduceKernels[dtype]()[kind];
  const rows = takeInner(kept, dtypes[dtype].bytes);
  const columns = takeInner(reduced, dtypes[dtype].bytes);
  const [rowStep, outStep] = rows.strides as [number, number];
  const columnStep = columns.strides[0]!;
  const [fromSteps, toSteps] = rows.outer.strides as [number[], number[]];
  const columnSteps = columns.outer.strides[0]!;
  let isFirst = true;

  const overReduced = (dim: number, from: number, to: number): void => {
    if (dim === columns.outer.shape.length) {
      const accumulate = isFirst ? 0 : 1;
      kernel(to, outStep, from, rowStep, columnStep, rows.size, columns.size, accumulate);
      isFirst = false;
      return;
    }
    for (let i = 0; i < columns.outer.shape[dim]!; i++) {
      overReduced(dim + 1, from + i * columnSteps[dim]!, to);
    }
  };
  const overKept = (dim: number, from: number, to: number): void => {
    if (dim === rows.outer.shape.length) {
      isFirst = !goesOn;
      overReduced(0, from, to);
      return;
    }
    for (let i = 0; i < rows.outer.shape[dim]!; i++) {
      overKept(dim + 1, from + i * fromSteps[dim]!, to + i * toSteps[dim]!);
    }
  };
  return ([source], [target]) => {
    overKept(0, addressOf(source!, dtype), addressOf(target!, dtype));
  };
}

function reduction(
  kind: ReductionKind,
  fallback: KernelFactory,
  dimsOf: (inputs: readonly TensorMeta[], dims: readonly number[]) => readonly number[],
): KernelFactory {
  return (inputs, outputs, attrs) => {
    const x = inputs[0]!;
    const { dtype } = x;
    const isFloat = dtype === 'float32' || dtype === 'float64';
    if (!hasSimd || !isFloat || sizeOf(x.shape) === 0) return fallback(inputs, outputs, attrs);
    const dims = dimsOf(inputs, attrs.dims as readonly number[]);
    return bindReduction(reductionOver(x, dims), kind, dtype);
  };
}

/** By which dimensions, innermost last, a sum or product goes, and whether it has partial results in lanes. */
export function reductionOrder(x: TensorMeta, dims: readonly number[]): string {
  const { reduced } = reductionOver(x, dims);
  const { size, strides } = takeInner(reduced, 1);
  const adjacent = reduced.strides[0]!.indexOf(1);
  const inner = adjacent < 0 ? reduced.shape.length - 1 : adjacent;
  const lanes = x.dtype === 'float64' ? 2 : 4;
  const inLanes = strides[0] === 1 && size >= 4 * lanes;
  return `${reduced.shape.join('x')} by ${inner}${inLanes ? ' in lanes' : ''}`;
}

const attrDims = (_inputs: readonly TensorMeta[], dims: readonly number[]) => dims;

export const sum = reduction('sum', scalar.sum, attrDims);
export const prod = reduction('prod', scalar.prod, attrDims);
export const max = reduction('max', scalar.max, attrDims);
export const min = reduction('min', scalar.min, attrDims);
export const sumTo = reduction('sum', scalar.sumTo, ([x, like]) => broadcastDims(x!, like!));

/** float32 with vectors, as its op says. */
export const addSum: KernelFactory = ([, x], _outputs, attrs) => {
  const add = bindReduction(reductionOver(x!, attrs.dims as number[]), 'sum', 'float32', true);
  return ([, source], target) => add([source!], target);
};
