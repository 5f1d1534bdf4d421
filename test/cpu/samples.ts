import fc from 'fast-check';
import type { KernelFactory } from '../../runtime/device/cpu/core/kernel.ts';
import { cpu } from '../../runtime/device/cpu/cpu-device.ts';
import type { Operand } from '../../runtime/device/device.ts';
import { Holder } from '../../runtime/device/holder.ts';
import type { KernelName } from '../../runtime/device/kernel-names.ts';
import { type Attrs, named } from '../../runtime/device/kernel-op.ts';
import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import type { Expr } from '../../runtime/ops/expr/expr.ts';
import type { OpRecord } from '../../runtime/ops/record/define-op.ts';
import { type DType, dtypes, newTypedArray } from '../../runtime/spec/dtype.ts';
import { contiguousStrides, type Shape, sizeOf } from '../../runtime/spec/shape.ts';
import { kernelNamed } from './kernel-named.ts';

/** Where the elements of a shape lie: which order of dimensions, how far apart, from where. */
export interface Layout {
  readonly strides: readonly number[];
  readonly offset: number;
  /** Elements of memory, from 0, that the layout may touch. */
  readonly span: number;
}

/** A tensor by hand: what a kernel sees, and its values in row-major order. */
export interface Sample {
  readonly meta: TensorMeta;
  readonly operand: Operand;
  readonly values: readonly number[];
}

export function contiguousLayout(shape: Shape): Layout {
  return { strides: contiguousStrides(shape), offset: 0, span: sizeOf(shape) };
}

/** Any order of the dimensions in memory, gaps between elements, a start that isn't aligned. */
export function layouts(shape: Shape): fc.Arbitrary<Layout> {
  const dims = shape.map((_, d) => d);
  return fc
    .record({
      order: fc.shuffledSubarray(dims, { minLength: dims.length }),
      gap: fc.constantFrom(1, 1, 2, 3),
      offset: fc.nat(5),
    })
    .map(({ order, gap, offset }) => {
      const strides = new Array<number>(shape.length);
      let stride = gap;
      for (const d of order) {
        strides[d] = stride;
        stride *= shape[d]!;
      }
      return { strides, offset, span: offset + stride };
    });
}

export const shapes = fc.oneof(
  fc.array(fc.integer({ min: 1, max: 7 }), { maxLength: 4 }),
  fc.tuple(fc.integer({ min: 1, max: 70 })),
  fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 40 })),
);

function eachPlace(shape: Shape, layout: Layout, visit: (at: number, i: number) => void): void {
  const size = sizeOf(shape);
  for (let i = 0; i < size; i++) {
    let rest = i;
    let at = layout.offset;
    for (let d = shape.length - 1; d >= 0; d--) {
      at += (rest % shape[d]!) * layout.strides[d]!;
      rest = Math.floor(rest / shape[d]!);
    }
    visit(at, i);
  }
}

/** Puts a tensor into the CPU's memory; `value(i)` is element i in row-major order. */
export function sample(
  dtype: DType,
  shape: Shape,
  value: (i: number) => number,
  layout: Layout = contiguousLayout(shape),
): Sample {
  const holder = new Holder(cpu, Math.max(layout.span, 1) * dtypes[dtype].bytes);
  const memory = newTypedArray(dtype, layout.span).fill(77);
  eachPlace(shape, layout, (at, i) => {
    memory[at] = value(i);
  });
  cpu.upload(memory, { ...metaOf(dtype, [layout.span]), offset: 0 }, { holder, offset: 0 });
  const meta = { ...metaOf(dtype, shape), strides: layout.strides, offset: layout.offset };
  const operand = { holder, offset: layout.offset };
  return { meta, operand, values: [...cpu.downloadSync(meta, operand)] };
}

export function metaOf(dtype: DType, shape: Shape): TensorMeta {
  return { dtype, shape, strides: contiguousStrides(shape), offset: 0, device: cpu };
}

export function blank(dtype: DType, shape: Shape): Sample {
  return sample(dtype, shape, () => 77);
}

export function release(...samples: readonly Sample[]): void {
  for (const { operand } of samples) operand.holder!.release();
}

/** Some numbers with many digits, the same every time. */
export function noise(seed: number): (i: number) => number {
  return (i) => {
    const x = Math.sin((i + 1) * 12.9898 + seed * 78.233) * 43758.5453;
    return (x - Math.floor(x)) * 4 - 2;
  };
}

function recordOf(kernel: OpRecord['kernel']): OpRecord {
  return {
    name: 'test',
    operands: [],
    variadic: true,
    infer: () => [],
    kernel,
    layout: 'any',
    inPlace: false,
    vjp: undefined,
  };
}

/** Runs a kernel into `outputs` and answers their values. */
export function run(
  kernel: KernelName | Expr,
  inputs: readonly Sample[],
  outputs: readonly Sample[],
  attrs: Attrs = {},
): number[][] {
  const record = recordOf(
    typeof kernel === 'string'
      ? named(kernel, kernelNamed[kernel])
      : { kind: 'pointwise', expr: kernel },
  );
  const metas = (list: readonly Sample[]) => list.map(({ meta }) => meta);
  const operands = (list: readonly Sample[]) => list.map(({ operand }) => operand);
  cpu.prepare(record, metas(inputs), metas(outputs), attrs)(operands(inputs), operands(outputs));
  return outputs.map(({ meta, operand }) => [...cpu.downloadSync(meta, operand)]);
}

/** Runs a named kernel into new outputs, frees everything and answers the values. */
export function compute(
  kernel: KernelName | KernelFactory,
  inputs: readonly Sample[],
  outputs: readonly { readonly dtype: DType; readonly shape: Shape }[],
  attrs: Attrs = {},
): number[][] {
  const made = outputs.map(({ dtype, shape }) => blank(dtype, shape));
  const factory = typeof kernel === 'string' ? kernelNamed[kernel] : kernel;
  const launch = factory(
    inputs.map(({ meta }) => meta),
    made.map(({ meta }) => meta),
    attrs,
  );
  launch(
    inputs.map(({ operand }) => operand),
    made.map(({ operand }) => operand),
  );
  const values = made.map(({ meta, operand }) => [...cpu.downloadSync(meta, operand)]);
  release(...made);
  return values;
}

/** Largest difference, measured by the largest expected value. */
export function error(actual: readonly number[], expected: readonly number[]): number {
  let scale = 1e-6;
  let worst = 0;
  expected.forEach((value, i) => {
    scale = Math.max(scale, Math.abs(value));
    const difference = Math.abs(value - actual[i]!);
    worst = Math.max(worst, Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference);
  });
  return actual.length === expected.length ? worst / scale : Number.POSITIVE_INFINITY;
}
