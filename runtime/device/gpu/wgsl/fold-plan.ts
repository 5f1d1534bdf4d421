import { sizeOf } from '../../../spec/shape.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { input, output, type Slot, scratch } from '../core/kernel-plan.ts';
import {
  type Fold,
  type FoldSizes,
  type FoldTexts,
  foldText,
  partsOf,
  sharingOf,
} from './fold-text.ts';
import { indexTexts, walksOf } from './index-text.ts';
import { chosenByNothing, type Issue, type WgslPlan, type WgslStage } from './wgsl-plan.ts';
import { WgslWriter } from './wgsl-writer.ts';

/** The text of an operand's element, by the operand's number among those that are read. */
export type ElementAt = (operand: number, index: string) => string;

/** An op whose results are folds of what it computes from its operands. */
export interface FoldOp {
  readonly fold: Fold;
  readonly sizes: FoldSizes;
  /** The inputs that it reads, by number. */
  readonly reads: readonly number[];
  readonly out: TensorMeta;
  readonly source: (w: WgslWriter, at: ElementAt) => FoldTexts['source'];
  /** Text of the result to store, made from the folded `value`. */
  readonly result: (value: string, at: ElementAt) => string;
  /** One result per output, in one dispatch, however long the fold is. */
  readonly isWhole?: boolean;
  /** Elements of one output are neighbours in memory; true by default. */
  readonly isAlong?: boolean;
}

export function foldPlan(op: FoldOp): WgslPlan {
  const { sizes, isWhole = false } = op;
  const parts = isWhole ? 1 : partsOf(sizes);
  if (parts === 1) return { scratch: [], stages: [foldStage(op, 1, output(0))] };
  const partials: FoldOp = {
    ...op,
    sizes: { outputs: sizes.outputs, count: parts },
    isAlong: true,
    source: (w, at) => (out) => {
      const base = w.let(`${out} * ${w.count('parts', parts)}`);
      return (r) => at(op.reads.length, `${base} + ${r}`);
    },
  };
  return {
    scratch: [sizes.outputs * parts],
    stages: [foldStage(op, parts, scratch(0)), foldStage(partials, 1, output(0), scratch(0))],
  };
}

/** One dispatch: results, or the results of parts. `from`: a further operand, after those that the op reads. */
function foldStage(
  { fold, sizes, reads, out, source, result, isAlong = true }: FoldOp,
  parts: number,
  target: Slot,
  from: Slot | null = null,
): WgslStage {
  const total = sizes.outputs * parts;
  const read = [...reads.map(input), ...(from ? [from] : [])];
  return {
    operands: [
      ...read.map((slot) => ({ slot, written: false, walk: null, elements: 0 })),
      { slot: target, written: true, walk: null, elements: total },
    ],
    isEmpty: total === 0,
    chosenBy: chosenByNothing,
    write: ({ bindings, written }: Issue) => {
      const sharing = sharingOf({ outputs: total, count: sizes.count }, isAlong);
      const w = new WgslWriter({ threads: sharing.threads, written });
      const at: ElementAt = (operand, index) =>
        `b${bindings[operand]!}[${w.offset(operand)} + ${index}]`;
      const texts = { parts, isAlong, source: source(w, at) };
      const groups = foldText(w, fold, sizes, texts, sharing);
      w.function(`finish(o : u32, value : ${fold.type})`, () => {
        const isPart = target.kind === 'scratch';
        const loops = walksOf(out.shape, [out.strides]).loops;
        const index = isPart ? 'o' : indexTexts(w, loops, 'o', 'out_')[0]!;
        w.line(`${at(read.length, index)} = ${isPart ? 'value' : result('value', at)};`);
      });
      return { text: w.text(), uniforms: w.uniforms, groups };
    },
  };
}

/** For ops that store what they fold. */
export const asItIs = (value: string): string => value;

export function sizesOf(out: TensorMeta, count: number): FoldSizes {
  return { outputs: sizeOf(out.shape), count };
}
