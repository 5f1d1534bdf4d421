import type { Attrs } from '../../../ops/core/define-op.ts';
import type { TensorMeta } from '../../../tensor/meta.ts';
import { sizeOf } from '../../../tensor/shape.ts';
import { input, output, type Slot } from '../kernel-plan.ts';
import type { WgslPlan, WgslStage } from './wgsl-plan.ts';
import { groupsOf, workgroupThreads } from './wgsl-text.ts';
import { WgslWriter } from './wgsl-writer.ts';

/** Threads that share a row: a power of 2. */
function threadsPerRow(length: number): number {
  if (length < 32) return 1;
  return length < 1024 ? 8 : 64;
}

/** Contiguous groups, each a row; null for groups whose elements lie apart, as those of batch norm. */
function rowsOf(attrs: Attrs, [x]: readonly TensorMeta[], weights: readonly TensorMeta[]) {
  const [view, over] = [attrs.view as readonly number[], attrs.over as readonly number[]];
  const first = view.length - over.length;
  if (!over.every((dim, i) => dim === first + i)) return null;
  const length = sizeOf(view.slice(first));
  if (weights.some(({ shape }) => sizeOf(shape) !== length)) return null;
  const weightShape = attrs.weightShape as readonly number[];
  if (weights.length > 0 && weightShape.length > over.length) return null;
  return { length, rows: length === 0 ? 0 : sizeOf(x!.shape) / length };
}

type Rows = NonNullable<ReturnType<typeof rowsOf>>;

/** Writes a kernel of which several threads go along one row together. */
class RowWriter {
  readonly w: WgslWriter;
  readonly #slices: number;
  readonly #operand: (i: number) => string;
  #sums = 0;

  constructor(w: WgslWriter, { rows, length }: Rows, operand: (i: number) => string) {
    this.w = w;
    this.#operand = operand;
    this.#slices = threadsPerRow(length);
    const perGroup = workgroupThreads / this.#slices;
    w.line(
      `let s = thread % ${this.#slices}u;`,
      `let q = thread / ${this.#slices}u;`,
      `let o = group * ${perGroup}u + q;`,
      `let end = select(0u, ${w.count('size', length)}, o < ${w.count('rows', rows)});`,
    );
  }

  /** The element `k` of the row of an operand. */
  inRow(i: number): string {
    return `${this.#operand(i)}[${this.w.offset(i)} + o * u.size + k]`;
  }

  /** The element `k` of an operand that all rows share. */
  shared(i: number): string {
    return `${this.#operand(i)}[${this.w.offset(i)} + k]`;
  }

  /** One of the two numbers of the row. */
  statistic(i: number, which: 0 | 1): string {
    return `${this.#operand(i)}[${this.w.offset(i)} + o * 2u + ${which}u]`;
  }

  each(body: () => void): void {
    this.w.line(`for (var k = s; k < end; k = k + ${this.#slices}u) {`);
    body();
    this.w.line('}');
  }

  /** The mean of an expression of `k` over the row. */
  mean(value: string): string {
    const { w } = this;
    const [sum, slices] = [`sum${this.#sums}`, this.#slices];
    const partial = `partial${this.#sums++}`;
    w.line(`var ${sum} = 0.0f;`);
    this.each(() => w.line(`${sum} = ${sum} + ${value};`));
    if (slices > 1) {
      w.shared(partial, `array<f32, ${workgroupThreads}>`);
      w.line(
        `${partial}[thread] = ${sum};`,
        'workgroupBarrier();',
        `${sum} = ${partial}[q * ${slices}u];`,
        `for (var j = 1u; j < ${slices}u; j = j + 1u) { ${sum} = ${sum} + ${partial}[q * ${slices}u + j]; }`,
      );
    }
    return w.let(`${sum} / f32(u.size)`);
  }
}

function rowStage(
  of: Rows,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  body: (row: RowWriter, isCentered: boolean) => void,
): WgslStage {
  const operand = (slot: Slot, written: boolean, { shape }: TensorMeta) => {
    return { slot, written, walk: null, elements: sizeOf(shape) };
  };
  return {
    operands: [
      ...inputs.map((meta, i) => operand(input(i), false, meta)),
      ...outputs.map((meta, i) => operand(output(i), true, meta)),
    ],
    isEmpty: of.rows * of.length === 0,
    chosenBy: ({ centered }) => String(centered),
    write: ({ bindings, written, attrs }) => {
      const w = new WgslWriter({ threads: workgroupThreads, written });
      body(new RowWriter(w, of, (i) => `b${bindings[i]!}`), attrs.centered === true);
      const perGroup = workgroupThreads / threadsPerRow(of.length);
      const groups = groupsOf(Math.ceil(of.rows / perGroup));
      return { text: w.text(), uniforms: w.uniforms, groups };
    },
  };
}

/** (x, or x, weight, bias) → the standardized rows, and per row its mean and 1 ÷ its deviation. */
export function standardizePlan(
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
): WgslPlan | null {
  const of = rowsOf(attrs, inputs, inputs.slice(1));
  if (!of) return null;
  const [out, stats] = [inputs.length, inputs.length + 1];
  const stage = rowStage(of, inputs, outputs, (row, isCentered) => {
    const { w } = row;
    const mean = isCentered ? row.mean(row.inRow(0)) : w.let('0.0f');
    const distance = `(${row.inRow(0)} - ${mean})`;
    const variance = row.mean(`${distance} * ${distance}`);
    const eps = w.uniform('eps', { kind: 'attr', name: 'eps' });
    const scale = w.let(`1.0f / sqrt(${variance} + ${eps})`);
    const affine = inputs.length > 1 ? ` * ${row.shared(1)} + ${row.shared(2)}` : '';
    row.each(() => w.line(`${row.inRow(out)} = ${distance} * ${scale}${affine};`));
    w.line(
      'if (s == 0u && end > 0u) {',
      `${row.statistic(stats, 0)} = ${mean};`,
      `${row.statistic(stats, 1)} = ${scale};`,
      '}',
    );
  });
  return { scratch: [], stages: [stage] };
}

/** (dy, x, statistics, and maybe weight) → the gradient of x. */
export function standardizeGradPlan(
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
): WgslPlan | null {
  const of = rowsOf(attrs, [inputs[1]!], inputs.slice(3));
  if (!of) return null;
  const stage = rowStage(of, inputs, outputs, (row, isCentered) => {
    const { w } = row;
    const mean = w.let(row.statistic(2, 0));
    const scale = w.let(row.statistic(2, 1));
    const own = inputs.length > 3 ? `(${row.inRow(0)} * ${row.shared(3)})` : row.inRow(0);
    const normal = `((${row.inRow(1)} - ${mean}) * ${scale})`;
    const shift = isCentered ? row.mean(own) : w.let('0.0f');
    const along = row.mean(`${own} * ${normal}`);
    row.each(() => {
      w.line(
        `${row.inRow(inputs.length)} = ${scale} * (${own} - ${shift} - ${normal} * ${along});`,
      );
    });
  });
  return { scratch: [], stages: [stage] };
}
