import { identity } from '../../../ops/expr/expr-type.ts';
import type { TensorMeta } from '../../../tensor/meta.ts';
import { broadcastStrides, sizeOf } from '../../../tensor/shape.ts';
import { input, output, type Slot, scratch } from '../kernel-plan.ts';
import { indexTexts, walksOf } from './index-text.ts';
import { bodyText, chosenByExponents, exponentNames } from './pointwise-kernel.ts';
import { type HeadBody, operandsUsed } from './staged-body.ts';
import { chosenByNothing, type WgslPlan, type WgslStage } from './wgsl-plan.ts';
import { groupsOf, workgroupThreads } from './wgsl-text.ts';
import { WgslWriter } from './wgsl-writer.ts';

/** How values are folded, in an order that depends on sizes alone. */
export interface Fold {
  readonly start: string;
  /** Folds `v` into `x`, both values or results of folds. */
  readonly step: string;
}

/** NaN wins, as in PyTorch; comparisons with NaN are false. */
const extreme = (sign: '>' | '<'): Fold => ({
  start: sign === '>' ? '-u.inf' : 'u.inf',
  step: `select(select(x + v, v, v ${sign} x), x, v ${sign === '>' ? '<=' : '>='} x)`,
});

export const folds = {
  sum: { start: '0.0f', step: 'x + v' },
  prod: { start: '1.0f', step: 'x * v' },
  max: extreme('>'),
  min: extreme('<'),
} as const satisfies Record<string, Fold>;

/** The elements of an operand as outputs, each the fold of so many elements. */
interface Reduction {
  readonly keptShape: readonly number[];
  readonly keptStrides: readonly number[];
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly outputs: number;
  readonly count: number;
}

export function reductionOf(x: TensorMeta, dims: readonly number[]): Reduction {
  const isKept = (_: number, d: number) => !dims.includes(d);
  const isReduced = (_: number, d: number) => dims.includes(d);
  const [keptShape, shape] = [x.shape.filter(isKept), x.shape.filter(isReduced)];
  return {
    keptShape,
    keptStrides: x.strides.filter(isKept),
    shape,
    strides: x.strides.filter(isReduced),
    outputs: sizeOf(keptShape),
    count: sizeOf(shape),
  };
}

/** Dimensions of `x` that broadcasting `like` to it repeats. */
export function repeatedDims(x: TensorMeta, like: TensorMeta): number[] {
  const lead = x.shape.length - like.shape.length;
  const isRepeated = (size: number, d: number) =>
    d < lead || (like.shape[d - lead] === 1 && size !== 1);
  return x.shape.flatMap((size, d) => (isRepeated(size, d) ? [d] : []));
}

/** Elements of one part, where a reduction is so long that one workgroup per output leaves the GPU idle. */
const partLength = 4096;
const fewOutputs = 256;

function partsOf({ count, outputs }: Reduction): number {
  return count > partLength && outputs < fewOutputs ? Math.ceil(count / partLength) : 1;
}

/** Threads that fold one output together: a power of 2. */
function slicesOf(count: number, outputs: number): number {
  const most = outputs >= 4096 ? 16 : 256;
  const wanted = 2 ** Math.floor(Math.log2(Math.max(1, count / 4)));
  return Math.min(most, wanted);
}

/** Folds `x` over `dims` into the output, whose elements are the other dimensions in order. */
export function reducePlan(
  fold: Fold,
  x: TensorMeta,
  dims: readonly number[],
  out: TensorMeta,
): WgslPlan {
  const copied = { expr: identity, operands: [{ operand: 1 }], dtype: out.dtype };
  const body = { shape: out.shape, parts: [copied], results: [0], writes: [] };
  const head = { reads: [0], body, attr: (_part: number, name: string) => name };
  return headedReduction(fold, reductionOf(x, dims), head, [x], [out]);
}

/** Whether the reduction takes scratch memory, and so can't be the head of a fused op. */
export function isLong(x: TensorMeta, dims: readonly number[]): boolean {
  return partsOf(reductionOf(x, dims)) > 1;
}

/** A reduction of one operand, and the pointwise ops on each of its results, before it is stored. */
export function headedReduction(
  fold: Fold,
  given: Reduction,
  head: HeadBody,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
): WgslPlan {
  const parts = partsOf(given);
  const source = input(head.reads[0]!);
  if (parts === 1)
    return { scratch: [], stages: [lastStage(fold, given, source, head, inputs, outputs)] };
  const partials: Reduction = {
    keptShape: [given.outputs],
    keptStrides: [parts],
    shape: [parts],
    strides: [1],
    outputs: given.outputs,
    count: parts,
  };
  return {
    scratch: [given.outputs * parts],
    stages: [
      partialStage(fold, given, source, parts),
      lastStage(fold, partials, scratch(0), head, inputs, outputs),
    ],
  };
}

function partialStage(fold: Fold, given: Reduction, source: Slot, parts: number): WgslStage {
  const total = given.outputs * parts;
  const slices = slicesOf(partLength, total);
  return {
    operands: [
      { slot: source, written: false, walk: null, elements: 0 },
      { slot: scratch(0), written: true, walk: null, elements: total },
    ],
    isEmpty: total === 0,
    chosenBy: chosenByNothing,
    write: ({ bindings, written }) => {
      const w = new WgslWriter({ threads: threadsFor(slices), written });
      const groups = foldText(w, fold, given, slices, { buffer: bindings[0]!, operand: 0, parts });
      w.function('finish(o : u32, value : f32)', () => {
        w.line(`b${bindings[1]!}[${w.offset(1)} + o] = value;`);
      });
      return { text: w.text(), uniforms: w.uniforms, groups };
    },
  };
}

function lastStage(
  fold: Fold,
  given: Reduction,
  source: Slot,
  { reads, body, attr }: HeadBody,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
): WgslStage {
  const { shape } = body;
  const metas = [...inputs, ...outputs];
  const read = reads[0]!;
  // Operands that only give a shape are not read: they are bound as the one that is.
  const used = operandsUsed(body);
  const isBound = (i: number) => i >= inputs.length || used.has(i);
  const strides = metas.map((meta, i) =>
    isBound(i) ? broadcastStrides(meta.shape, meta.strides, shape) : shape.map(() => 0),
  );
  const { loops } = walksOf(shape, strides);
  const slices = slicesOf(given.count, given.outputs);
  const own = metas.length;
  return {
    operands: [
      ...metas.map((meta, i) => ({
        slot: i >= inputs.length ? output(i - inputs.length) : isBound(i) ? input(i) : source,
        written: i >= inputs.length || body.writes.some(({ operand }) => operand === i),
        walk: isBound(i) ? strides[i]!.join() : null,
        elements: sizeOf(meta.shape),
      })),
      { slot: source, written: false, walk: null, elements: 0 },
    ],
    isEmpty: given.outputs === 0,
    chosenBy: chosenByExponents(exponentNames(body, attr)),
    write: ({ bindings, written, attrs }) => {
      const w = new WgslWriter({ threads: threadsFor(slices), written });
      const from = { buffer: bindings[own]!, operand: own, parts: 1 };
      const groups = foldText(w, fold, given, slices, from);
      w.function('finish(o : u32, value : f32)', () => {
        const indices = indexTexts(w, loops, 'o', 'own_');
        bodyText(w, body, {
          place: (i) => `b${bindings[i]!}[${w.offset(i)} + ${indices[i]!}]`,
          firstResult: inputs.length,
          dtype: (i) => inputs[i]?.dtype ?? inputs[read]!.dtype,
          known: new Map([[inputs.length, 'value']]),
          attr: (part, name) => {
            const full = attr(part, name);
            return { field: `a_${full}`, name: full, value: Number(attrs[full]) };
          },
        });
      });
      return { text: w.text(), uniforms: w.uniforms, groups };
    },
  };
}

function threadsFor(slices: number): number {
  return Math.max(workgroupThreads, slices);
}

interface FoldSource {
  readonly buffer: number;
  /** The number of the operand, for its offset. */
  readonly operand: number;
  /** Parts of `partLength` elements that each output is folded in. */
  readonly parts: number;
}

/**
 * Writes the fold of each output, which `finish(o, value)` gets once: thread `s` of `slices` folds the elements s,
 * s + slices, …, then halves of the threads fold what the other halves have.
 */
function foldText(
  w: WgslWriter,
  { start, step }: Fold,
  { keptShape, keptStrides, shape, strides, outputs, count }: Reduction,
  slices: number,
  { buffer, operand, parts }: FoldSource,
) {
  const threads = threadsFor(slices);
  const perGroup = threads / slices;
  const total = w.count('outputs', outputs * parts);
  const length = w.count('length', count);
  w.function('fold(x : f32, v : f32) -> f32', () => w.line(`return ${step};`));
  // Neighbouring threads read neighbours in memory: of one output, or of several. The order of sums is the same.
  const isAlong = strides.at(-1) === 1 || slices === threads;
  w.line(
    isAlong ? `let s = thread % ${slices}u;` : `let s = thread / ${perGroup}u;`,
    isAlong ? `let q = thread / ${slices}u;` : `let q = thread % ${perGroup}u;`,
    `let o = group * ${perGroup}u + q;`,
    `var x = ${start};`,
    `if (o < ${total}) {`,
  );
  let [out, first, end] = ['o', 's', length];
  if (parts > 1) {
    const number = w.count('parts', parts);
    out = w.let(`o / ${number}`);
    const part = w.let(`(o - ${out} * ${number}) * ${partLength}u`);
    first = w.let(`${part} + s`);
    end = w.let(`min(${part} + ${partLength}u, ${length})`);
  }
  const kept = walksOf(keptShape, [keptStrides]).loops;
  const base = w.let(`${w.offset(operand)} + ${indexTexts(w, kept, out, 'kept_')[0]!}`);
  w.line(`for (var r = ${first}; r < ${end}; r = r + ${slices}u) {`);
  const reduced = walksOf(shape, [strides]).loops;
  const index = indexTexts(w, reduced, 'r', 'own_r')[0]!;
  w.line(`x = fold(x, b${buffer}[${base} + ${index}]);`, '}', '}');
  if (slices > 1) {
    w.shared('partial', `array<f32, ${threads}>`);
    w.line(
      `partial[s * ${perGroup}u + q] = x;`,
      'workgroupBarrier();',
      `for (var h = ${slices / 2}u; h > 0u; h = h / 2u) {`,
      `if (s < h) { partial[s * ${perGroup}u + q] = fold(partial[s * ${perGroup}u + q], partial[(s + h) * ${perGroup}u + q]); }`,
      'workgroupBarrier();',
      '}',
      'if (s == 0u) { x = partial[q]; }',
    );
  }
  w.line(`if (s == 0u && o < ${total}) { finish(o, x); }`);
  return groupsOf(Math.ceil((outputs * parts) / perGroup));
}
