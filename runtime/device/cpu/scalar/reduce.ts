import type { TensorMeta } from '../../../tensor/meta.ts';
import type { Launch } from '../../device.ts';
import { heap } from '../heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../kernel.ts';
import { walk } from '../loops.ts';
import { broadcastDims, reductionOver } from '../reduction.ts';

/**
 * float32 sum by pairs: like a binary counter, slot `level` holds the sum of 2^level blocks, so the
 * error grows with the logarithm of the length.
 */
class PairwiseSum {
  readonly #levels = new Float32Array(48);
  #block = 0;
  #inBlock = 0;
  #blocks = 0;

  add(value: number): void {
    this.#block = Math.fround(this.#block + value);
    if (++this.#inBlock === 16) this.#carry();
  }

  #carry(): void {
    let sum = this.#block;
    let level = 0;
    for (let blocks = this.#blocks++; blocks & 1; blocks >>>= 1) {
      sum = Math.fround(this.#levels[level]! + sum);
      this.#levels[level++] = 0;
    }
    this.#levels[level] = sum;
    this.#block = 0;
    this.#inBlock = 0;
  }

  total(): number {
    let sum = this.#block;
    for (const level of this.#levels) sum = Math.fround(sum + level);
    return sum;
  }
}

/** The largest so far; NaN wins, as in PyTorch. */
function larger(a: number, b: number): number {
  return b > a || Number.isNaN(b) ? b : a;
}

function reduction(
  x: TensorMeta,
  out: TensorMeta,
  dims: readonly number[],
  kind: 'sum' | 'max',
): Launch {
  const { kept, reduced } = reductionOver(x, dims);
  const isFloat = x.dtype === 'float32';
  return ([source], [target]) => {
    const data = heap.view(x.dtype);
    const results = heap.view(out.dtype);
    const at = [indexOf(source!, x.dtype), indexOf(target!, out.dtype)];
    walk(kept, at, () => {
      const sum = new PairwiseSum();
      let result = kind === 'max' ? Number.NEGATIVE_INFINITY : 0;
      const from = [at[0]!];
      walk(reduced, from, () => {
        const value = data[from[0]!]!;
        if (kind === 'max') result = larger(result, value);
        else if (isFloat) sum.add(value);
        else result = (result + value) | 0;
      });
      results[at[1]!] = kind === 'sum' && isFloat ? sum.total() : result;
    });
  };
}

export const sum: KernelFactory = ([x], [out], { dims }) =>
  reduction(x!, out!, dims as readonly number[], 'sum');

export const sumTo: KernelFactory = ([x, like], [out]) =>
  reduction(x!, out!, broadcastDims(x!, like!), 'sum');

export const max: KernelFactory = ([x], [out], { dims }) =>
  reduction(x!, out!, dims as readonly number[], 'max');

export const argmax: KernelFactory = ([x], [out], { dim }) => {
  expectContiguous(x!, out!);
  const at = dim as number;
  const size = x!.shape[at]!;
  const stride = x!.shape.slice(at + 1).reduce((a, b) => a * b, 1);
  const outer = x!.shape.slice(0, at).reduce((a, b) => a * b, 1);
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
          // The first NaN counts as the maximum.
          if (value > top || (Number.isNaN(value) && !Number.isNaN(top))) best = k;
        }
        heap.i32[to++] = best;
      }
    }
  };
};
