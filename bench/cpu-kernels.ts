/**
 * The CPU kernels on one thread, best of several short runs: `npx tsx bench/cpu-kernels.ts`. Shares are relative to
 * the machine's limits, measured in the same run, ratios relative to plain JavaScript on the same memory; absolute
 * figures vary with the load of the machine.
 */

import { heap } from '../runtime/device/cpu/core/heap.ts';
import type { KernelFactory } from '../runtime/device/cpu/core/kernel.ts';
import { cpu } from '../runtime/device/cpu/cpu-device.ts';
import { pointwise } from '../runtime/device/cpu/pointwise/pointwise.ts';
import { matmul as scalarMatmul } from '../runtime/device/cpu/scalar/matmul.ts';
import type { Launch, Operand } from '../runtime/device/device.ts';
import { Holder } from '../runtime/device/holder.ts';
import type { KernelName } from '../runtime/device/kernel-names.ts';
import type { Attrs } from '../runtime/device/kernel-op.ts';
import type { TensorMeta } from '../runtime/device/tensor-meta.ts';
import { layerNorm, noGrad, rand, tidy } from '../runtime/index.ts';
import { E, type Expr } from '../runtime/ops/expr/expr.ts';
import { type DType, dtypes } from '../runtime/spec/dtype.ts';
import { contiguousStrides, type Shape, sizeOf } from '../runtime/spec/shape.ts';
import { kernelNamed } from '../test/cpu/kernel-named.ts';
import { measureLimits } from './machine-limits.ts';

interface Placed extends TensorMeta, Operand {
  readonly holder: Holder;
}

function placed(shape: Shape, dtype: DType = 'float32'): Placed {
  const holder = new Holder(cpu, sizeOf(shape) * dtypes[dtype].bytes);
  const strides = contiguousStrides(shape);
  if (dtype === 'float32') {
    const start = holder.ptr / 4;
    for (let i = 0; i < sizeOf(shape); i++) heap.f32[start + i] = ((i * 7919) % 1000) / 500 - 1;
  }
  return { dtype, shape, strides, offset: 0, device: cpu, holder };
}

/** Milliseconds of one call: the best of several batches, about a quarter of a second in total. */
function milliseconds(call: () => void): number {
  call();
  const started = performance.now();
  call();
  const once = Math.max(performance.now() - started, 1e-4);
  const repeats = Math.max(1, Math.round(20 / once));
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < (once > 100 ? 1 : 10); round++) {
    const from = performance.now();
    for (let i = 0; i < repeats; i++) call();
    best = Math.min(best, (performance.now() - from) / repeats);
  }
  return best;
}

function bound(launch: Launch, inputs: readonly Placed[], outputs: readonly Placed[]): () => void {
  return () => launch(inputs, outputs);
}

function named(
  kernel: KernelName | KernelFactory,
  inputs: readonly Placed[],
  outputs: readonly Placed[],
  attrs: Attrs = {},
): number {
  const factory = typeof kernel === 'string' ? kernelNamed[kernel] : kernel;
  return milliseconds(bound(factory(inputs, outputs, attrs), inputs, outputs));
}

function release(...tensors: readonly Placed[]): void {
  for (const { holder } of tensors) holder.release();
}

const format = (value: number, digits = 1) => value.toFixed(digits).padStart(8);

function products(): void {
  console.log('matmul                         ms    GFLOP/s  % of peak   × naive loop');
  for (const [m, k, n] of [
    [16, 16, 16],
    [64, 64, 64],
    [128, 784, 128],
    [128, 128, 10],
    [512, 512, 512],
  ] as const) {
    const [a, b, c] = [placed([m, k]), placed([k, n]), placed([m, n])];
    const fast = named('matmul', [a, b], [c]);
    const slow = named(scalarMatmul, [a, b], [c]);
    const gflops = (2 * m * n * k) / fast / 1e6;
    const name = `${m}×${k} · ${k}×${n}`.padEnd(22);
    const share = (gflops / limits.gflops) * 100;
    console.log(
      `${name} ${format(fast, 4)} ${format(gflops)} ${format(share)}   ${format(slow / fast)}`,
    );
    release(a, b, c);
  }
}

function convolutions(): void {
  console.log(
    '\nconvolution, batch 128         forward  input gradient  weight gradient   (ms, GFLOP/s)',
  );
  for (const [channels, out, size, kernel, padding] of [
    [1, 8, 28, 3, 1],
    [1, 8, 28, 5, 2],
    [8, 16, 14, 3, 1],
    [8, 16, 14, 5, 2],
  ] as const) {
    const outSize = size + 2 * padding - kernel + 1;
    const x = placed([128, channels, size, size]);
    const w = placed([out, channels, kernel, kernel]);
    const y = placed([128, out, outSize, outSize]);
    const pair = (value: number) => [value, value];
    const attrs = { stride: pair(1), padding: pair(padding), dilation: pair(1), groups: 1 };
    const times = [
      named('conv2d', [x, w], [y], attrs),
      named('conv2dInputGrad', [y, w, x], [x], attrs),
      named('conv2dWeightGrad', [y, x, w], [w], attrs),
    ];
    const flops = 2 * sizeOf(y.shape) * channels * kernel * kernel;
    const cells = times.map((ms) => `${format(ms, 2)} ${format(flops / ms / 1e6)}`);
    const name = `${channels}→${out} ${kernel}×${kernel} on ${size}²`.padEnd(22);
    console.log(`${name} ${cells.join('  ')}`);
    release(x, w, y);
  }
}

const [x, y] = [E.input(0), E.input(1)];

function pointwiseKernels(): void {
  console.log('\npointwise, 4 Mi floats         ms       GB/s  % of triad  × JavaScript loop');
  const size = 1 << 22;
  const [a, b, c] = [placed([size]), placed([size]), placed([size])];
  const row = placed([1024]);
  const matrix = (tensor: Placed): Placed => ({
    ...tensor,
    shape: [4096, 1024],
    strides: [1024, 1],
  });
  const loop = (f: (v: number, w: number) => number) => () => {
    const data = heap.f32;
    const [p, q, r] = [a.holder.ptr / 4, b.holder.ptr / 4, c.holder.ptr / 4];
    for (let i = 0; i < size; i++) data[r + i] = f(data[p + i]!, data[q + i]!);
  };
  const cases: readonly [string, Expr, Placed[], (v: number, w: number) => number][] = [
    ['x + y', E.add(x, y), [matrix(a), matrix(b)], (v, w) => v + w],
    ['bias: x + row', E.add(x, y), [matrix(a), row], (v, w) => v + w],
    ['relu', E.max(x, E.const(0)), [matrix(a)], (v) => Math.max(v, 0)],
    ['x > y → bool', E.gt(x, y), [matrix(a), matrix(b)], (v, w) => Number(v > w)],
    ['exp', E.exp(x), [matrix(a)], (v) => Math.exp(v)],
    ['log', E.log(E.abs(x)), [matrix(a)], (v) => Math.log(Math.abs(v))],
    ['tanh', E.tanh(x), [matrix(a)], (v) => Math.tanh(v)],
    ['|x| ** 2.5', E.pow(E.abs(x), E.const(2.5)), [matrix(a)], (v) => Math.abs(v) ** 2.5],
    ['x % y', E.rem(x, y), [matrix(a), matrix(b)], (v, w) => v % w],
  ];
  for (const [name, expr, inputs, scalar] of cases) {
    const out = { ...matrix(c), dtype: name.endsWith('bool') ? ('bool' as const) : 'float32' };
    const launch = pointwise(expr, inputs, out as Placed, {});
    const ms = milliseconds(bound(launch, inputs, [out as Placed]));
    const slow = milliseconds(loop(scalar));
    const gigabytes = ((inputs.length + 1) * size * 4) / ms / 1e6;
    const share = (gigabytes / limits.memoryGBps) * 100;
    console.log(
      `${name.padEnd(22)} ${format(ms, 3)} ${format(gigabytes)} ${format(share)}    ${format(slow / ms)}`,
    );
  }
  release(a, b, c, row);
}

/** Bytes read once and written once, per second: rows are read again from the cache. */
function rowsAndReductions(): void {
  console.log('\nrows and reductions            ms       GB/s  % of triad');
  const [x, y] = [placed([4096, 1024]), placed([4096, 1024])];
  const [total, row, column] = [placed([]), placed([1024]), placed([4096])];
  const print = (name: string, ms: number, bytes: number) => {
    const gigabytes = bytes / ms / 1e6;
    const share = (gigabytes / limits.memoryGBps) * 100;
    console.log(`${name.padEnd(22)} ${format(ms, 3)} ${format(gigabytes)} ${format(share)}`);
  };
  const bytes = sizeOf(x.shape) * 4;
  const over = (...dims: number[]) => ({ dims, keepDim: false });
  print('softmax [4096,1024]', named('softmax', [x], [y]), 2 * bytes);
  print('logSoftmax', named('logSoftmax', [x], [y]), 2 * bytes);
  print('softmax gradient', named('softmaxGrad', [x, y], [y]), 3 * bytes);
  const input = rand([4096, 1024]);
  const normalized = () => noGrad(() => tidy(() => void layerNorm(input, [1024])));
  print('layerNorm', milliseconds(normalized), 2 * bytes);
  input.dispose();
  print('sum of all', named('sum', [x], [total], over(0, 1)), bytes);
  print('sum of rows', named('sum', [x], [column], over(1)), bytes);
  print('sum of columns', named('sum', [x], [row], over(0)), bytes);
  print('max of rows', named('max', [x], [column], over(1)), bytes);
  const [wide, wideTotal] = [placed([2048, 1024], 'float64'), placed([], 'float64')];
  print('sum of all, float64', named('sum', [wide], [wideTotal], over(0, 1)), bytes);
  release(x, y, total, row, column, wide, wideTotal);
}

function others(): void {
  console.log('\nothers                         ms');
  const print = (name: string, ms: number) => console.log(`${name.padEnd(30)} ${format(ms, 3)}`);
  const image = placed([128, 8, 28, 28]);
  const pooled = placed([128, 8, 14, 14]);
  const places = placed([128, 8, 14, 14], 'int32');
  const bias = placed([8]);
  const window = { kernel: [2, 2], stride: [2, 2], padding: [0, 0], dilation: [1, 1] };
  print('maxPool 2×2 [128,8,28,28]', named('maxPool2d', [image], [pooled, places], window));
  print('its gradient', named('maxPool2dGrad', [pooled, places, image], [image]));
  print(
    'bias gradient over it',
    named('sum', [image], [bias], { dims: [0, 2, 3], keepDim: false }),
  );
  const [hidden, row] = [placed([128, 784]), placed([784])];
  print('bias gradient [128,784]', named('sum', [hidden], [row], { dims: [0], keepDim: false }));
  const [scores, out] = [placed([128, 10]), placed([128, 10])];
  print('logSoftmax [128,10]', named('logSoftmax', [scores], [out]));
  print('its gradient', named('logSoftmaxGrad', [scores, out], [out]));
  const [wide, soft] = [placed([1024, 1024]), placed([1024, 1024])];
  print('softmax [1024,1024]', named('softmax', [wide], [soft]));
  print('transposing copy 1024²', named('copy', [{ ...wide, strides: [1, 1024] }], [soft]));
  const [counts, wholeCount] = [placed([1024, 1024], 'int32'), placed([], 'int32')];
  print('sum of int32, 1 Mi', named('sum', [counts], [wholeCount], { dims: [0, 1] }));
  const along = { dim: 1, count: 1024, descending: false };
  print('sort [1024,1024]', named('sort', [wide], [soft, counts], along));
  print('gather [1024,1024]', named('gather', [wide, counts], [soft], { dim: 1 }));
  print('scatterAdd [1024,1024]', named('scatterAdd', [wide, counts, wide], [soft], { dim: 1 }));
  print('uniform 1 Mi', named('uniform', [], [wide], { seed: 1, offset: 0 }));
  print('normal 1 Mi', named('normal', [], [wide], { seed: 1, offset: 0 }));
  release(image, pooled, places, bias, hidden, row, scores, out, wide, soft, counts, wholeCount);
}

function launches(): void {
  console.log('\nprepare and launch, 16 floats  µs');
  const [a, b, c] = [placed([4, 4]), placed([4, 4]), placed([4, 4])];
  const row = placed([4]);
  const print = (name: string, call: () => void) =>
    console.log(`${name.padEnd(30)} ${format(milliseconds(call) * 1000, 3)}`);
  const add = E.add(x, y);
  const launch = pointwise(add, [a, b], c, {});
  print('prepare x + y', () => void pointwise(add, [a, b], c, {}));
  print('prepare x + row', () => void pointwise(add, [a, row], c, {}));
  print('launch x + y', () => launch([a, b], [c]));
  print('prepare matmul', () => void kernelNamed.matmul([a, b], [c], {}));
  const product = kernelNamed.matmul([a, b], [c], {});
  print('launch matmul', () => product([a, b], [c]));
  release(a, b, c, row);
}

const limits = measureLimits();
const cells = [limits.gflops, limits.cacheGBps, limits.memoryGBps].map((value) => value.toFixed(0));
console.log(`limits of this machine, one thread: ${cells[0]} GFLOP/s (128-bit multiply and add),`);
console.log(`triad ${cells[1]} GB/s in the cache, ${cells[2]} GB/s in memory\n`);
products();
convolutions();
pointwiseKernels();
rowsAndReductions();
others();
launches();
