import { sizeOf } from '../../../spec/shape.ts';
import type { Attrs } from '../../kernel-op.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { input, output, type Slot } from '../core/kernel-plan.ts';
import { beginWithWords, rowUnits, type Unit, unitOf } from './each-element.ts';
import { elementTypeOf } from './elements/element-type.ts';
import { asItIs, foldPlan } from './fold-plan.ts';
import { folds } from './fold-text.ts';
import { foldThreads } from './thread-folds.ts';
import type { KernelPlanner, WgslOperand, WgslStage } from './wgsl-plan.ts';
import { groupsOf as groupsFor, workgroupThreads } from './wgsl-text.ts';
import { WgslWriter } from './wgsl-writer.ts';

/** Groups of elements, each normalized separately. */
interface Groups {
  readonly count: number;
  /** The number of elements per group. */
  readonly length: number;
  /** The number of contiguous elements; in rows, all are. */
  readonly inner: number;
  /** Rows have a weight per element, channels a single weight. */
  readonly form: 'rows' | 'channels';
}

/** Returns the number of threads per group: a power of 2, larger if few groups would leave the GPU idle. */
function threadsPerGroup({ length, count }: Groups): number {
  if (length < 32) return 1;
  if (length >= 128 && count < 128) return length < 1024 ? 64 : 256;
  if (length < 128) return 8;
  if (length < 1024) return 32;
  return length < 4096 ? 64 : 256;
}

/** Returns rows, or channels of a batch; null for groups with another layout. */
function groupsOf(attrs: Attrs, weights: readonly TensorMeta[]): Groups | null {
  const [view, over] = [attrs.view as readonly number[], attrs.over as readonly number[]];
  const weightShape = attrs.weightShape as readonly number[];
  const fits = (count: number) => weights.every(({ shape }) => sizeOf(shape) === count);
  if (view.length === 3 && over.join() === '0,2') {
    const [batch, count, inner] = view as [number, number, number];
    const isPerChannel = weights.length === 0 || weightShape.join() === `${count},1`;
    const groups = { count, length: batch * inner, inner, form: 'channels' } as const;
    return fits(count) && isPerChannel ? groups : null;
  }
  const first = view.length - over.length;
  if (!over.every((dim, i) => dim === first + i)) return null;
  const length = sizeOf(view.slice(first));
  if (!fits(length)) return null;
  if (weights.length > 0 && weightShape.length > over.length) return null;
  const count = length === 0 ? 0 : sizeOf(view.slice(0, first));
  return { count, length, inner: length, form: 'rows' };
}

/** With more threads, sums are folded in two steps. */
const mostByFours = 64;

/** Writes a kernel in which several threads process one group together. */
class GroupWriter {
  readonly w: WgslWriter;
  readonly #groups: Groups;
  /** The elements that a thread writes together. */
  readonly #unit: Unit;
  readonly #slices: number;
  readonly #threads: number;
  #sums = 0;

  constructor(w: WgslWriter, groups: Groups, unit: Unit) {
    this.w = w;
    this.#unit = unit;
    this.#groups = groups;
    this.#slices = threadsPerGroup(groups);
    this.#threads = Math.max(workgroupThreads, this.#slices);
    const perGroup = this.#threads / this.#slices;
    w.line(
      `let s = thread % ${this.#slices}u;`,
      `let q = thread / ${this.#slices}u;`,
      `let o = group * ${perGroup}u + q;`,
      `let exists = o < ${w.count('groups', groups.count)};`,
      `let end = select(0u, ${w.count('size', groups.length)}, exists);`,
    );
  }

  /** Returns an operand's element at the position of \`each\`. */
  own(i: number): string {
    return this.w.load(i, `${this.w.offset(i)} + i`);
  }

  /** Returns the weight of that element. */
  weight(i: number): string {
    const place = this.#groups.form === 'rows' ? 'k' : 'o';
    return this.w.load(i, `${this.w.offset(i)} + ${place}`);
  }

  /** Returns one of the two numbers of the group. */
  statistic(i: number, which: 0 | 1): string {
    return this.w.load(i, this.#statisticAt(i, which));
  }

  storeStatistic(i: number, which: 0 | 1, value: string): void {
    this.w.line(this.w.store(i, this.#statisticAt(i, which), value));
  }

  #statisticAt(i: number, which: 0 | 1): string {
    return `${this.w.offset(i)} + o * 2u + ${which}u`;
  }

  each(body: () => void, unit: Unit = { elements: 1, packed: [] }): void {
    const { w } = this;
    rowUnits(w, unit, this.#slices, () => {
      if (this.#groups.form === 'rows') w.line('let i = o * u.size + k;');
      else {
        const inner = w.count('inner', this.#groups.inner);
        w.line(`let i = (k / ${inner} * u.groups + o) * ${inner} + k % ${inner};`);
      }
      body();
    });
  }

  /** Writes an operand's elements, each with a value in terms of `i` and `k`. */
  eachStored(i: number, value: string): void {
    const { w } = this;
    this.each(() => w.line(w.store(i, `${w.offset(i)} + i`, value)), this.#unit);
  }

  /** Writes the mean over the group of an expression of `i` and `k`. */
  mean(value: string): string {
    const { w } = this;
    const [sum, slices] = [`sum${this.#sums}`, this.#slices];
    const partial = `partial${this.#sums++}`;
    w.line(`var ${sum} = 0.0f;`);
    this.each(() => w.line(`${sum} = ${sum} + ${value};`));
    const [type, threads] = ['f32', this.#threads] as const;
    const step = (x: string, v: string) => `${x} + ${v}`;
    if (slices > mostByFours) this.#addUp(sum, partial);
    else if (slices > 1) foldThreads(w, { name: sum, type, slices, threads, partial, step });
    return w.let(`${sum} / f32(u.size)`);
  }

  /** Adds the partial sums of a group's threads, starting with few threads. */
  #addUp(sum: string, partial: string): void {
    const { w } = this;
    const slices = this.#slices;
    const rows = 16;
    const added = (first: string, count: number, step: number) => [
      `${sum} = ${partial}[q * ${slices}u + ${first}];`,
      `for (var j = 1u; j < ${count}u; j = j + 1u) { ${sum} = ${sum} + ${partial}[q * ${slices}u + ${first} + j * ${step}u]; }`,
    ];
    w.shared(partial, `array<f32, ${this.#threads}>`);
    w.line(`${partial}[thread] = ${sum};`, 'workgroupBarrier();');
    w.line(`if (s < ${rows}u) {`, ...added('s', slices / rows, rows));
    w.line(`${partial}[thread] = ${sum};`, '}', 'workgroupBarrier();', ...added('0u', rows, 1));
  }
}

function groupStage(
  groups: Groups,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  body: (group: GroupWriter, isCentered: boolean) => void,
): WgslStage {
  const operand = (slot: Slot, written: boolean, { shape, dtype }: TensorMeta): WgslOperand => {
    const type = elementTypeOf(dtype);
    const inOrder = beginWithWords(type, groups.inner, []);
    return { slot, written, walk: null, elements: sizeOf(shape), type, inOrder };
  };
  const slices = threadsPerGroup(groups);
  const threads = Math.max(workgroupThreads, slices);
  const operands = [
    ...inputs.map((meta, i) => operand(input(i), false, meta)),
    ...outputs.map((meta, i) => operand(output(i), true, meta)),
  ];
  return {
    operands,
    isEmpty: groups.count === 0,
    chosenBy: ({ centered }) => String(centered),
    write: (issue) => {
      const w = new WgslWriter(threads, issue);
      body(new GroupWriter(w, groups, unitOf(operands, issue)), issue.attrs.centered === true);
      const dispatched = groupsFor(Math.ceil((groups.count * slices) / threads));
      return { text: w.text(), uniforms: w.uniforms, groups: dispatched };
    },
  };
}

/** (x, or x, weight, bias) → the standardized groups, and per group its mean and 1 ÷ its deviation. */
export const standardizePlan: KernelPlanner = (inputs, outputs, attrs) => {
  const groups = groupsOf(attrs, inputs.slice(1));
  if (!groups) return null;
  const [out, stats] = [inputs.length, inputs.length + 1];
  const stage = groupStage(groups, inputs, outputs, (group, isCentered) => {
    const { w } = group;
    const mean = isCentered ? group.mean(group.own(0)) : w.let('0.0f');
    const distance = `(${group.own(0)} - ${mean})`;
    const variance = group.mean(`${distance} * ${distance}`);
    const eps = w.uniform('eps', { kind: 'attr', name: 'eps' });
    const scale = w.let(`1.0f / sqrt(${variance} + ${eps})`);
    const affine = inputs.length > 1 ? ` * ${group.weight(1)} + ${group.weight(2)}` : '';
    group.eachStored(out, `${distance} * ${scale}${affine}`);
    w.line('if (s == 0u && exists) {');
    group.storeStatistic(stats, 0, mean);
    group.storeStatistic(stats, 1, scale);
    w.line('}');
  });
  return { scratch: [], stages: [stage] };
};

/** (dy, x, statistics, optional weight) → the gradient of x. */
export const standardizeGradPlan: KernelPlanner = (inputs, outputs, attrs) => {
  const groups = groupsOf(attrs, inputs.slice(3));
  if (!groups) return null;
  const stage = groupStage(groups, inputs, outputs, (group, isCentered) => {
    const { w } = group;
    const mean = w.let(group.statistic(2, 0));
    const scale = w.let(group.statistic(2, 1));
    const gradient = inputs.length > 3 ? `(${group.own(0)} * ${group.weight(3)})` : group.own(0);
    const normal = `((${group.own(1)} - ${mean}) * ${scale})`;
    const shift = isCentered ? group.mean(gradient) : w.let('0.0f');
    const along = group.mean(`${gradient} * ${normal}`);
    const value = `${scale} * (${gradient} - ${shift} - ${normal} * ${along})`;
    group.eachStored(inputs.length, value);
  });
  return { scratch: [], stages: [stage] };
};

/** (dy, x, statistics, weight: shape) → the gradient of the weights: sums over groups, or over a channel. */
export const standardizeWeightGradPlan: KernelPlanner = (inputs, [out], attrs) => {
  const groups = groupsOf(attrs, inputs.slice(3));
  if (!groups) return null;
  const { count, length, inner, form } = groups;
  const isRows = form === 'rows';
  return foldPlan({
    fold: folds.sum,
    sizes: isRows ? { outputs: length, count } : { outputs: count, count: length },
    inputs,
    reads: [0, 1, 2],
    out: out!,
    isAlong: !isRows,
    source: (w, at) => (o) => (r) => {
      const stride = isRows ? w.count('weights', length) : w.count('inner', inner);
      const channels = isRows ? '' : w.count('channels', count);
      const index = isRows
        ? `${r} * ${stride} + ${o}`
        : `(${r} / ${stride} * ${channels} + ${o}) * ${stride} + ${r} % ${stride}`;
      const group = isRows ? r : o;
      const distance = `(${at(1, index)} - ${at(2, `${group} * 2u`)})`;
      return `${at(0, index)} * (${distance} * ${at(2, `${group} * 2u + 1u`)})`;
    },
    result: asItIs,
  });
};
