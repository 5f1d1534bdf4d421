import { identity } from '../../../ops/expr/expr-type.ts';
import { broadcastStrides, sizeOf } from '../../../spec/shape.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { input, output, type Slot, scratch } from '../core/kernel-plan.ts';
import { type ElementType, elementTypeOf } from './elements/element-type.ts';
import { type Fold, type FoldTexts, foldText, partCount, sharingOf } from './fold-text.ts';
import { headText } from './head-text.ts';
import { indexTexts, walksOf } from './index-text.ts';
import { chosenByExponents, exponentNames } from './pointwise-kernel.ts';
import { type HeadBody, operandsRead, operandsUsed } from './staged-body.ts';
import { chosenByNothing, type WgslPlan, type WgslStage } from './wgsl-plan.ts';
import { WgslWriter } from './wgsl-writer.ts';

/** An operand's elements as outputs, each the fold of this many elements. */
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

/** Returns the dimensions of `x` that broadcasting `like` to it repeats. */
export function repeatedDims(x: TensorMeta, like: TensorMeta): number[] {
  const lead = x.shape.length - like.shape.length;
  const isRepeated = (size: number, d: number) =>
    d < lead || (like.shape[d - lead] === 1 && size !== 1);
  return x.shape.flatMap((size, d) => (isRepeated(size, d) ? [d] : []));
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
  const dtype = fold.type === 'i32' ? ('int32' as const) : ('float32' as const);
  const head = { reads: [0], body, dtype, attr: (_part: number, name: string) => name };
  return headedReduction(fold, reductionOf(x, dims), head, [x], [out]);
}

/** Returns a reduction of one operand and the pointwise ops on its results before they are stored. */
export function headedReduction(
  fold: Fold,
  reduction: Reduction,
  head: HeadBody,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
): WgslPlan {
  const parts = partCount(reduction);
  const read = head.reads[0]!;
  const source: FoldSource = { slot: input(read), type: elementTypeOf(inputs[read]!.dtype) };
  if (parts === 1)
    return { scratch: [], stages: [lastStage(fold, reduction, source, head, inputs, outputs)] };
  const partial: FoldSource = { slot: scratch(0), type: partialType(fold) };
  const partials: Reduction = {
    keptShape: [reduction.outputs],
    keptStrides: [parts],
    shape: [parts],
    strides: [1],
    outputs: reduction.outputs,
    count: parts,
  };
  return {
    scratch: [reduction.outputs * parts],
    stages: [
      partialStage(fold, reduction, source, parts),
      lastStage(fold, partials, partial, head, inputs, outputs),
    ],
  };
}

/** The operand that is folded. */
interface FoldSource {
  readonly slot: Slot;
  readonly type: ElementType;
}

const partialType = ({ type }: Fold): ElementType => (type === 'i32' ? 'int32' : 'float32');

function partialStage(
  fold: Fold,
  reduction: Reduction,
  source: FoldSource,
  parts: number,
): WgslStage {
  const total = reduction.outputs * parts;
  return {
    operands: [
      { ...source, written: false, walk: null, elements: 0 },
      { slot: scratch(0), written: true, walk: null, elements: total, type: partialType(fold) },
    ],
    isEmpty: total === 0,
    chosenBy: chosenByNothing,
    write: (issue) => {
      const sharing = sharingOf({ outputs: total, count: reduction.count }, isAlong(reduction));
      const w = new WgslWriter(sharing.threads, issue);
      const groups = foldText(w, fold, reduction, sourceOf(w, reduction, 0, parts), sharing);
      w.function(`finish(o : u32, value : ${fold.type})`, () => {
        w.line(w.store(1, `${w.offset(1)} + o`, 'value'));
      });
      return { text: w.text(), uniforms: w.uniforms, groups };
    },
  };
}

/** Folds the elements of `source`, and stores the results of the head's body. */
export function lastStage(
  fold: Fold,
  reduction: Reduction,
  source: FoldSource,
  head: HeadBody,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
): WgslStage {
  const { body } = head;
  const { shape } = body;
  const metas = [...inputs, ...outputs];
  // Operands whose shape alone is read are bound as the folded operand.
  const used = operandsUsed(body);
  const read = operandsRead(body);
  const isBound = (i: number) => i >= inputs.length || used.has(i);
  const strides = metas.map((meta, i) =>
    isBound(i) ? broadcastStrides(meta.shape, meta.strides, shape) : shape.map(() => 0),
  );
  const { loops } = walksOf(shape, strides);
  const sharing = sharingOf(reduction, isAlong(reduction));
  const operandCount = metas.length;
  return {
    operands: [
      ...metas.map((meta, i) => ({
        slot: i >= inputs.length ? output(i - inputs.length) : isBound(i) ? input(i) : source.slot,
        written: i >= inputs.length || body.writes.some(({ operand }) => operand === i),
        isRead: read.has(i),
        walk: isBound(i) ? strides[i]!.join() : null,
        elements: sizeOf(meta.shape),
        type: isBound(i) ? elementTypeOf(meta.dtype) : source.type,
      })),
      { ...source, written: false, walk: null, elements: 0 },
    ],
    isEmpty: reduction.outputs === 0,
    chosenBy: chosenByExponents(exponentNames(body, head.attr)),
    write: (issue) => {
      const w = new WgslWriter(sharing.threads, issue);
      const groups = foldText(w, fold, reduction, sourceOf(w, reduction, operandCount, 1), sharing);
      w.function(`finish(o : u32, value : ${fold.type})`, () => {
        const indices = indexTexts(w, loops, 'o', 'own_');
        const place = (i: number) => `${w.offset(i)} + ${indices[i]!}`;
        headText(w, head, inputs, issue.attrs, 'value', place);
      });
      return { text: w.text(), uniforms: w.uniforms, groups };
    },
  };
}

/** Whether the elements of an output are adjacent in memory. */
function isAlong({ strides }: Reduction): boolean {
  return strides.at(-1) === 1;
}

/** Returns the elements of operand `operand`. */
function sourceOf(w: WgslWriter, reduction: Reduction, operand: number, parts: number): FoldTexts {
  const kept = walksOf(reduction.keptShape, [reduction.keptStrides]).loops;
  const reduced = walksOf(reduction.shape, [reduction.strides]).loops;
  return {
    parts,
    isAlong: isAlong(reduction),
    source: (out) => {
      const base = w.let(`${w.offset(operand)} + ${indexTexts(w, kept, out, 'kept_')[0]!}`);
      return (r) => w.load(operand, `${base} + ${indexTexts(w, reduced, r, 'own_r')[0]!}`);
    },
  };
}
