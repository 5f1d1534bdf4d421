import { type DType, dtypes } from '../../../spec/dtype.ts';
import type { Launch } from '../../device.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';
import { walk } from '../core/loops.ts';
import { alongDim, broadcastDims, type ReductionKind, reductionOver } from '../core/reduction.ts';

type Round = (value: number) => number;

/** To the dtype that a kernel computes in; float64 is what JavaScript has. */
export const roundingOf = (dtype: DType): Round => (dtype === 'float64' ? (x) => x : Math.fround);

/**
 * A sum by pairs: like a binary counter, slot `level` holds the sum of 2^level blocks, so the
 * error grows with the logarithm of the length.
 */
class PairwiseSum {
  readonly #levels = new Float64Array(48);
  readonly #round: Round;
  #block = 0;
  #inBlock = 0;
  #blocks = 0;

  constructor(round: Round) {
    this.#round = round;
  }

  add(value: number): void {
    this.#block = this.#round(this.#block + value);
    if (++this.#inBlock === 16) this.#carry();
  }

  #carry(): void {
    let sum = this.#block;
    let level = 0;
    for (let blocks = this.#blocks++; blocks & 1; blocks >>>= 1) {
      sum = this.#round(this.#levels[level]! + sum);
      this.#levels[level++] = 0;
    }
    this.#levels[level] = sum;
    this.#block = 0;
    this.#inBlock = 0;
  }

  total(): number {
    let sum = this.#block;
    for (const level of this.#levels) sum = this.#round(sum + level);
    return sum;
  }
}

interface Fold {
  readonly start: number;
  readonly step: (result: number, value: number) => number;
}

/** NaN wins over the largest and the smallest, as in PyTorch. */
const folds: { readonly [K in ReductionKind]: Fold } = {
  sum: { start: 0, step: (a, b) => (a + b) | 0 },
  prod: { start: 1, step: Math.imul },
  max: { start: -Infinity, step: (a, b) => (b > a || Number.isNaN(b) ? b : a) },
  min: { start: Infinity, step: (a, b) => (b < a || Number.isNaN(b) ? b : a) },
};

const productIn = (round: Round): Fold => ({ start: 1, step: (a, b) => round(a * b) });

function reduction(
  x: TensorMeta,
  out: TensorMeta,
  dims: readonly number[],
  kind: ReductionKind,
): Launch {
  const { kept, reduced } = reductionOver(x, dims);
  const isFloat = dtypes[x.dtype].floating;
  const round = roundingOf(x.dtype);
  const { start, step } = kind === 'prod' && isFloat ? productIn(round) : folds[kind];
  const pairwise = kind === 'sum' && isFloat;
  return ([source], [target]) => {
    const data = heap.view(x.dtype);
    const results = heap.view(out.dtype);
    const at = [indexOf(source!, x.dtype), indexOf(target!, out.dtype)];
    walk(kept, at, () => {
      const sum = new PairwiseSum(round);
      let result = start;
      const from = [at[0]!];
      walk(reduced, from, () => {
        const value = data[from[0]!]!;
        if (pairwise) sum.add(value);
        else result = step(result, value);
      });
      results[at[1]!] = pairwise ? sum.total() : result;
    });
  };
}

export const sum: KernelFactory = ([x], [out], { dims }) =>
  reduction(x!, out!, dims as readonly number[], 'sum');

export const sumTo: KernelFactory = ([x, like], [out]) =>
  reduction(x!, out!, broadcastDims(x!, like!), 'sum');

export const prod: KernelFactory = ([x], [out], { dims }) =>
  reduction(x!, out!, dims as readonly number[], 'prod');

export const max: KernelFactory = ([x], [out], { dims }) =>
  reduction(x!, out!, dims as readonly number[], 'max');

export const min: KernelFactory = ([x], [out], { dims }) =>
  reduction(x!, out!, dims as readonly number[], 'min');

/** The place of the first of the largest (sign 1) or smallest (sign −1); NaN counts as that. */
function placeOf(sign: 1 | -1): KernelFactory {
  return ([x], [out], { dim }) => {
    expectContiguous(x!, out!);
    const { size, stride, outer } = alongDim(x!.shape, dim as number);
    return ([source], [target]) => {
      const data = heap.view(x!.dtype);
      const from = indexOf(source!, x!.dtype);
      let to = indexOf(target!, 'int32');
      for (let o = 0; o < outer; o++) {
        for (let i = 0; i < stride; i++) {
          const first = from + o * size * stride + i;
          let best = 0;
          for (let k = 1; k < size; k++) {
            const value = data[first + k * stride]!;
            const top = data[first + best * stride]!;
            const isFirstNaN = Number.isNaN(value) && !Number.isNaN(top);
            if (sign * value > sign * top || isFirstNaN) best = k;
          }
          heap.i32[to++] = best;
        }
      }
    };
  };
}

export const argmax = placeOf(1);
export const argmin = placeOf(-1);
