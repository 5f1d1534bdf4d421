/** The limits of this machine for WebAssembly, measured in the same run as the kernels that are compared with them. */

import { argumentsAt } from '../runtime/device/cpu/core/scratch.ts';
import { cpu } from '../runtime/device/cpu/cpu-device.ts';
import { f32x4, i32, load, op, store } from '../runtime/device/cpu/wasm/assembler/code.ts';
import {
  type FunctionBuilder,
  get,
} from '../runtime/device/cpu/wasm/assembler/function-builder.ts';
import { compile } from '../runtime/device/cpu/wasm/assembler/module-builder.ts';
import { Holder } from '../runtime/device/holder.ts';

const accumulators = 10;
const unrolled = 4;

/** (iterations): products and sums in registers only, as many independent ones as their latency requires. */
function multiplyAdd(f: FunctionBuilder): void {
  const iterations = f.param();
  const [factor, term] = [f.local('v128', f32x4(0.999)), f.local('v128', f32x4(0.001))];
  const sums = Array.from({ length: accumulators }, (_, i) => f.local('v128', f32x4(i)));
  f.countDown(iterations, 1, () => {
    for (let k = 0; k < unrolled; k++) {
      for (const sum of sums) {
        f.set(sum, op('f32x4.add', op('f32x4.mul', get(sum), get(factor)), get(term)));
      }
    }
  });
  // Stores the sums, so that the compiler doesn't drop the loop.
  for (const sum of sums) f.emit(store('v128.store', i32(argumentsAt), get(sum)));
}

/** (to, x, y, vectors): to = x + 3 · y. */
function triad(f: FunctionBuilder): void {
  const [to, x, y, left] = [f.param(), f.param(), f.param(), f.param()];
  const three = f.local('v128', f32x4(3));
  f.countDown(left, 4, () => {
    for (let i = 0; i < 4; i++) {
      const product = op('f32x4.mul', load('v128.load', get(y), i * 16), get(three));
      const sum = op('f32x4.add', load('v128.load', get(x), i * 16), product);
      f.emit(store('v128.store', get(to), sum, i * 16));
    }
    for (const at of [to, x, y]) f.add(at, 64);
  });
}

/** Least milliseconds of one call within about a third of a second. */
function least(call: () => void): number {
  let best = Infinity;
  const end = performance.now() + 300;
  do {
    const start = performance.now();
    call();
    best = Math.min(best, performance.now() - start);
  } while (performance.now() < end);
  return best;
}

export interface MachineLimits {
  /** Multiplications and additions of 128-bit vectors in registers, on one thread. */
  readonly gflops: number;
  /** Bytes read and written by x + 3 · y in the second-level cache (64 Ki floats) and in memory (8 Mi). */
  readonly cacheGBps: number;
  readonly memoryGBps: number;
}

export function measureLimits(): MachineLimits {
  const kernels = compile({ multiplyAdd, triad });
  const iterations = 1e6;
  const flops = iterations * unrolled * accumulators * 4 * 2;
  const gflops = flops / least(() => kernels.multiplyAdd(iterations)) / 1e6;
  const bandwidth = (floats: number): number => {
    const holders = [0, 1, 2].map(() => new Holder(cpu, floats * 4));
    const [to, a, b] = holders.map(({ ptr }) => ptr) as [number, number, number];
    const ms = least(() => kernels.triad(to, a, b, floats / 4));
    for (const holder of holders) holder.release();
    return (3 * floats * 4) / ms / 1e6;
  };
  return { gflops, cacheGBps: bandwidth(1 << 16), memoryGBps: bandwidth(1 << 23) };
}
