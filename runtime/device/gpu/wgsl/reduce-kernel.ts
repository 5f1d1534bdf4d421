import { identity } from '../../../ops/expr/expr-type.ts';
import { broadcastStrides, sizeOf } from '../../../spec/shape.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { input, output, type Slot, scratch } from '../core/kernel-plan.ts';
import { type Fold, type FoldTexts, foldText, partsOf, sharingOf } from './fold-text.ts';
import { indexTexts, walksOf } from './index-text.ts';
import { bodyText, chosenByExponents, exponentNames } from './pointwise-kernel.ts';
import { type HeadBody, operandsUsed } from './staged-body.ts';
import { chosenByNothing, type WgslPlan, type WgslStage } from './wgsl-plan.ts';
import { WgslWriter } from './wgsl-writer.ts';

/** The elements of an operand as outputs, each the fold of so many elements. */
export interface Reduction {
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
  return {
    operands: [
      { slot: source, written: false, walk: null, elements: 0 },
      { slot: scratch(0), written: true, walk: null, elements: total },
    ],
    isEmpty: total === 0,
    chosenBy: chosenByNothing,
    write: ({ bindings, written }) => {
      const sharing = sharingOf({ outputs: total, count: given.count }, isAlong(given));
      const w = new WgslWriter({ threads: sharing.threads, written });
      const texts = sourceOf(w, given, bindings[0]!, 0, parts);
      const groups = foldText(w, fold, given, texts, sharing);
      w.function('finish(o : u32, value : f32)', () => {
        w.line(`b${bindings[1]!}[${w.offset(1)} + o] = value;`);
      });
      return { text: w.text(), uniforms: w.uniforms, groups };
    },
  };
}

/** Folds the elements of `source`, and stores what the head's body makes of them. */
export function lastStage(
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
  const sharing = sharingOf(given, isAlong(given));
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
      const w = new WgslWriter({ threads: sharing.threads, written });
      const groups = foldText(w, fold, given, sourceOf(w, given, bindings[own]!, own, 1), sharing);
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

/** Whether the elements of an output are neighbours in memory. */
function isAlong({ strides }: Reduction): boolean {
  return strides.at(-1) === 1;
}

/** The elements of operand `operand`, which is bound as `buffer`. */
function sourceOf(
  w: WgslWriter,
  given: Reduction,
  buffer: number,
  operand: number,
  parts: number,
): FoldTexts {
  const kept = walksOf(given.keptShape, [given.keptStrides]).loops;
  const reduced = walksOf(given.shape, [given.strides]).loops;
  return {
    parts,
    isAlong: isAlong(given),
    source: (out) => {
      const base = w.let(`${w.offset(operand)} + ${indexTexts(w, kept, out, 'kept_')[0]!}`);
      return (r) => `b${buffer}[${base} + ${indexTexts(w, reduced, r, 'own_r')[0]!}]`;
    },
  };
}
