import { sizeOf } from '../../../spec/shape.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { input, output, type Slot, scratch } from '../core/kernel-plan.ts';
import { type ElementType, elementTypeOf } from './elements/element-type.ts';
import {
  type Fold,
  type FoldSizes,
  type FoldTexts,
  foldText,
  partCount,
  sharingOf,
} from './fold-text.ts';
import { indexTexts, walksOf } from './index-text.ts';
import { chosenByNothing, type WgslOperand, type WgslPlan, type WgslStage } from './wgsl-plan.ts';
import { WgslWriter } from './wgsl-writer.ts';

/** Returns the text of an operand's element, by the operand's index among those read. */
export type ElementAt = (operand: number, index: string) => string;

export function elementsOf(w: WgslWriter): ElementAt {
  return (operand, index) => w.load(operand, `${w.offset(operand)} + ${index}`);
}

/** An op whose results are folds of values computed from its operands. */
interface FoldOp {
  readonly fold: Fold;
  readonly sizes: FoldSizes;
  /** The inputs; `reads` lists the ones that the op reads. */
  readonly inputs: readonly TensorMeta[];
  readonly reads: readonly number[];
  readonly out: TensorMeta;
  readonly source: (w: WgslWriter, at: ElementAt) => FoldTexts['source'];
  /** Returns the text of the result to store, from the folded `value`. */
  readonly result: (value: string, at: ElementAt) => string;
  /** Whether each output is computed in one dispatch, however long the fold. */
  readonly isWhole?: boolean;
  /** Whether elements of one output are adjacent in memory; true by default. */
  readonly isAlong?: boolean;
}

export function foldPlan(op: FoldOp): WgslPlan {
  const { sizes, isWhole = false } = op;
  const parts = isWhole ? 1 : partCount(sizes);
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

/** Returns one dispatch that computes results, or results of parts. `from` is an operand besides the op's own. */
function foldStage(
  { fold, sizes, inputs, reads, out, source, result, isAlong = true }: FoldOp,
  parts: number,
  target: Slot,
  from: Slot | null = null,
): WgslStage {
  const total = sizes.outputs * parts;
  const unwritten = { written: false, walk: null, elements: 0 };
  const type = (meta: TensorMeta): ElementType => elementTypeOf(meta.dtype);
  const read: WgslOperand[] = reads.map((i) => {
    return { ...unwritten, slot: input(i), type: type(inputs[i]!) };
  });
  // Results of parts.
  if (from) read.push({ ...unwritten, slot: from, type: 'float32' });
  const isPart = target.kind === 'scratch';
  return {
    operands: [
      ...read,
      {
        slot: target,
        written: true,
        walk: null,
        elements: total,
        type: isPart ? 'float32' : type(out),
      },
    ],
    isEmpty: total === 0,
    chosenBy: chosenByNothing,
    write: (issue) => {
      const sharing = sharingOf({ outputs: total, count: sizes.count }, isAlong);
      const w = new WgslWriter(sharing.threads, issue);
      const at = elementsOf(w);
      const texts = { parts, isAlong, source: source(w, at) };
      const groups = foldText(w, fold, sizes, texts, sharing);
      w.function(`finish(o : u32, value : ${fold.type})`, () => {
        const loops = walksOf(out.shape, [out.strides]).loops;
        const index = isPart ? 'o' : indexTexts(w, loops, 'o', 'out_')[0]!;
        const place = `${w.offset(read.length)} + ${index}`;
        w.line(w.store(read.length, place, isPart ? 'value' : result('value', at)));
      });
      return { text: w.text(), uniforms: w.uniforms, groups };
    },
  };
}

/** Stores the folded value unchanged. */
export const asItIs = (value: string): string => value;

export function sizesOf(out: TensorMeta, count: number): FoldSizes {
  return { outputs: sizeOf(out.shape), count };
}
