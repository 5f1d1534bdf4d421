import type { Attrs } from '../../../runtime/device/kernel-op.ts';
import { isContiguousMeta, type TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import { productBlock, sumBlock } from '../../../runtime/numerics/blocks.ts';
import { opNamed } from '../../../runtime/ops/op-table.ts';
import type { OpRecord } from '../../../runtime/ops/record/define-op.ts';
import { isByChannel } from '../../../runtime/ops/reduce/reduce.ts';
import type { ProgramOp } from '../../../runtime/program/program.ts';
import { type Shape, sizeOf } from '../../../runtime/spec/shape.ts';

/** The dimension along which a value is cut into equal consecutive parts; null if it remains whole. */
export type Cut = number | null;

/** An op whose operands are to be cut. */
interface Use {
  readonly op: ProgramOp;
  readonly inputs: readonly TensorMeta[];
  readonly outputs: readonly TensorMeta[];
  readonly cuts: readonly Cut[];
  readonly parts: number;
  /** Whether parts may end within a block of a sum, which then needs memory and ops of its own. */
  readonly splitsBlocks: boolean;
}

/** How the parts of an op's results, or its whole results, are computed from the parts of its operands. */
export type Slicing =
  /** The op itself runs on each part. */
  | {
      readonly kind: 'map';
      readonly operands: readonly Cut[];
      readonly outputs: readonly number[];
      readonly op?: OpRecord;
      readonly attrs?: Attrs;
    }
  /** The op runs on the first part, then `into`, which accumulates into its result in place. */
  | {
      readonly kind: 'accumulate';
      readonly operands: readonly Cut[];
      readonly into: OpRecord;
      readonly attrs: (part: number) => Attrs;
    }
  /** A product whose inner dimension, of this length, is cut: a sum in blocks. */
  | { readonly kind: 'sumProducts'; readonly operands: readonly Cut[]; readonly length: number }
  /** A sum over leading dimensions: of `rows` rows of `columns` elements, part by part in blocks. */
  | {
      readonly kind: 'sumRows';
      readonly operands: readonly Cut[];
      readonly rows: number;
      readonly columns: number;
    }
  /**
   * The scores of the labels, part by part. The loss is computed from all of them, at its position among the later ops.
   */
  | { readonly kind: 'labelScores'; readonly operands: readonly Cut[] };

type Rule = (use: Use) => Slicing | null;

/**
 * Returns how an op is computed in slices, bitwise identical, or null if it can't be. Relies only on guarantees of
 * every kernel: an element of a result depends on the elements given by the op's definition, and sums keep the order
 * and the blocks of the whole.
 */
export function slicingOf(use: Use): Slicing | null {
  const { op } = use.op;
  if (op.kernel.kind === 'pointwise') return pointwise(use);
  return Object.hasOwn(rules, op.name) ? rules[op.name]!(use) : null;
}

/** Operands broadcast, so dimensions are counted from the last one. */
function pointwise({ op, inputs, outputs, cuts }: Use): Slicing | null {
  const { shape } = op.op.inPlace ? inputs[0]! : outputs[0]!;
  const from = (rank: number) => shape.length - rank;
  const asked = cuts.flatMap((cut, i) => {
    return cut === null ? [] : [cut + from(inputs[i]!.shape.length)];
  });
  const dim = asked[0]!;
  if (asked.some((other) => other !== dim)) return null;
  const operands = inputs.map((meta): Cut => {
    const aligned = dim - from(meta.shape.length);
    return aligned >= 0 && meta.shape[aligned] === shape[dim] ? aligned : null;
  });
  if (cuts.some((cut, i) => cut !== null && operands[i] === null)) return null;
  return { kind: 'map', operands, outputs: op.op.inPlace ? [] : [dim] };
}

/** Elements keep their order: the number of elements before the cut dimension must stay the same. */
const reshaped: Rule = ({ op, inputs, outputs, cuts: [cut], parts }) => {
  const { shape } = outputs[0]!;
  const before = sizeOf(inputs[0]!.shape.slice(0, cut!));
  let ahead = 1;
  for (const [dim, size] of shape.entries()) {
    if (ahead === before && size > 1) {
      if (size % parts !== 0) return null;
      const attrs = { shape: cutShape(shape, dim, parts) };
      const operands = op.inputs.map((_, i) => (i === 0 ? cut! : null));
      return { kind: 'map', operands, outputs: [dim], op: opNamed('reshape'), attrs };
    }
    ahead *= size;
  }
  return null;
};

export function cutShape(shape: Shape, dim: number, parts: number): Shape {
  return shape.map((size, d) => (d === dim ? size / parts : size));
}

const permuted: Rule = ({ op, cuts: [cut] }) => {
  const dims = op.attrs.dims as readonly number[];
  return { kind: 'map', operands: [cut!], outputs: [dims.indexOf(cut!)] };
};

/** Attribute `dim` isn't the cut dimension. */
const besideDim: Rule = ({ op, inputs, outputs, cuts }) => {
  const dim = op.attrs.dim as number;
  const cut = cuts.find((item) => item !== null)!;
  if (cut === dim || cuts.some((item) => item !== null && item !== cut)) return null;
  return { kind: 'map', operands: inputs.map(() => cut), outputs: outputs.map(() => cut) };
};

const copied: Rule = ({ cuts: [cut] }) => ({ kind: 'map', operands: [cut!], outputs: [cut!] });

const expanded: Rule = ({ op, inputs, outputs, cuts: [cut], parts }) => {
  const { shape } = outputs[0]!;
  const dim = cut! + shape.length - inputs[0]!.shape.length;
  const attrs = { shape: cutShape(shape, dim, parts) };
  const operands = op.inputs.map((_, i) => (i === 0 ? cut! : null));
  return { kind: 'map', operands, outputs: [dim], op: opNamed('expand'), attrs };
};

/** Every operand has the result's shape and is reduced along its last dimension. */
const alongLast: Rule = ({ inputs, outputs, cuts }) => {
  const cut = cuts.find((item) => item !== null)!;
  if (cut === outputs[0]!.shape.length - 1) return null;
  if (cuts.some((item) => item !== null && item !== cut)) return null;
  return { kind: 'map', operands: inputs.map(() => cut), outputs: [cut] };
};

/** Rows, columns and batches are independent; along the inner dimension, parts continue the sum. */
const product: Rule = ({ inputs, outputs, cuts, parts, splitsBlocks }) => {
  const rank = outputs[0]!.shape.length;
  const [row, column] = [rank - 2, rank - 1];
  const [a, b] = cuts as readonly [Cut, Cut];
  if (a === column || b === row) {
    if ((a !== null && a !== column) || (b !== null && b !== row) || rank !== 2) return null;
    if (outputs[0]!.dtype !== 'float32') return null;
    const length = inputs[0]!.shape[1]!;
    if (!splitsBlocks && !endsInFirstOrWhole(length, parts)) return null;
    return { kind: 'sumProducts', operands: [column, row], length };
  }
  if (a === row && b === null) return { kind: 'map', operands: [row, null], outputs: [row] };
  if (b === column && a === null) {
    return { kind: 'map', operands: [null, column], outputs: [column] };
  }
  const batch = a ?? b!;
  if (batch >= row || (a !== null && b !== null && a !== b)) return null;
  return { kind: 'map', operands: [batch, batch], outputs: [batch] };
};

/** Whether a part ends within a block of a sum that another part continues. */
export function splitsAny(slicings: Iterable<Slicing>, parts: number): boolean {
  for (const slicing of slicings) {
    if (slicing.kind === 'sumProducts' && !endsInFirstOrWhole(slicing.length, parts)) return true;
    if (slicing.kind === 'sumRows' && !endsInWhole(slicing.rows, parts)) return true;
  }
  return false;
}

const endsInWhole = (rows: number, parts: number) => (rows / parts) % sumBlock === 0;

/** Whether all parts end where a block of a product ends, or within its first block. */
function endsInFirstOrWhole(length: number, parts: number): boolean {
  return Array.from({ length: parts }, (_, part) => (part * length) / parts).every(
    (start) => start % productBlock === 0 || start < productBlock,
  );
}

/** For layer normalization, whose groups each belong to one part. */
function groupsOfRows({ op, inputs, cuts, parts }: Use): readonly number[] | null {
  const view = op.attrs.view as readonly number[];
  const over = op.attrs.over as readonly number[];
  const weights = op.attrs.weightShape as readonly number[];
  const isOfLayer = over[0] === 1 && view.length === 2 && sizeOf(weights) === view[1];
  const cutFirst = cuts.every((cut) => cut === null || cut === 0);
  if (!isOfLayer || !cutFirst || view[0]! % parts !== 0) return null;
  return inputs[0]!.dtype === 'float32' ? [view[0]! / parts, view[1]!] : null;
}

const standardized: Rule = (use) => {
  const view = groupsOfRows(use);
  if (!view) return null;
  const { attrs } = use.op;
  return {
    kind: 'map',
    // x, weight, bias
    operands: use.inputs.map((_, i) => (i === 0 ? 0 : null)),
    outputs: [0, 0],
    attrs: { ...attrs, view },
  };
};

const standardizedGrad: Rule = (use) => {
  const view = groupsOfRows(use);
  if (!view) return null;
  // dy, x, stats, weight
  const operands = use.inputs.map((_, i) => (i < 3 ? 0 : null));
  return { kind: 'map', operands, outputs: [0], attrs: { ...use.op.attrs, view } };
};

const standardizedWeightGrad: Rule = (use) => {
  const view = groupsOfRows(use);
  if (!view || view[1]! < 4) return null;
  return {
    kind: 'accumulate',
    operands: [0, 0, 0, null],
    into: opNamed('addStandardizeWeightGrad_'),
    attrs: () => ({ ...use.op.attrs, view }),
  };
};

/** For a sum over the cut dimension: blocks of rows are summed as in the whole sum. */
function summedOver(
  dims: readonly number[],
  { inputs, outputs, cuts, parts, splitsBlocks }: Use,
): Slicing | null {
  const [x] = inputs;
  const [cut] = cuts;
  if (!isContiguousMeta(x!) || cut !== 0 || outputs[0]!.dtype !== 'float32') return null;
  if (isByChannel(x!.shape, dims)) {
    const operands = inputs.map((_, i) => (i === 0 ? 0 : null));
    return { kind: 'accumulate', operands, into: opNamed('addSum_'), attrs: () => ({ dims }) };
  }
  if (dims.some((dim, i) => dim !== i)) return null;
  const rows = sizeOf(dims.map((dim) => x!.shape[dim]!));
  const columns = sizeOf(x!.shape) / rows;
  const isInBlocks = splitsBlocks || endsInWhole(rows, parts);
  if (columns < 2 || !isInBlocks || rows > sumBlock ** 3) return null;
  const operands = inputs.map((_, i) => (i === 0 ? 0 : null));
  return { kind: 'sumRows', operands, rows, columns };
}

const sum: Rule = (use) => {
  const { op, inputs, cuts } = use;
  const dims = op.attrs.dims as readonly number[];
  const cut = cuts[0]!;
  if (dims.includes(cut)) return summedOver(dims, use);
  // In other layouts, the length of the kept dimensions could change the order of the sum.
  if (!isContiguousMeta(inputs[0]!) || dims.some((dim) => dim < cut)) return null;
  return { kind: 'map', operands: [cut], outputs: [cut] };
};

const sumTo: Rule = (use) => {
  const [x, like] = use.inputs;
  const lead = x!.shape.length - like!.shape.length;
  const dims = x!.shape.flatMap((size, dim) => {
    return dim < lead || (like!.shape[dim - lead] === 1 && size !== 1) ? [dim] : [];
  });
  return dims.includes(use.cuts[0]!) ? summedOver(dims, use) : null;
};

/** A reduced tensor, expanded. */
const unreduced: Rule = ({ op, outputs, cuts: [cut] }) => {
  const dims = op.attrs.dims as readonly number[];
  const shape = outputs[0]!.shape.map((_, dim) => dim);
  const kept = op.attrs.keepDim ? shape : shape.filter((dim) => !dims.includes(dim));
  const dim = kept[cut!]!;
  return { kind: 'map', operands: [cut!, dim], outputs: [dim] };
};

/** Images are independent: operand 0 and operands read only for their shapes are cut, weights are not. */
const perImage: Rule = ({ inputs, outputs, cuts, op }) => {
  const isWeight = (i: number) => op.op.operands[i]!.name === 'w';
  if (cuts.some((cut, i) => cut !== null && (cut !== 0 || isWeight(i)))) return null;
  const operands = inputs.map((_, i) => (isWeight(i) ? null : 0));
  return { kind: 'map', operands, outputs: outputs.map(() => 0) };
};

/** Kernels for at most this many output channels sum in another order. */
const fewChannels = 4;

/** Summed image by image; output channels are independent. */
const convWeightGrad: Rule = ({ op, inputs, outputs, cuts, parts }) => {
  if (inputs[0]!.dtype !== 'float32') return null;
  const { attrs } = op;
  if (cuts[0] === 1 && cuts[1] === null) {
    const isPlain = attrs.groups === 1 && outputs[0]!.shape[0]! / parts > fewChannels;
    return isPlain ? { kind: 'map', operands: [1, null, 0], outputs: [0] } : null;
  }
  if (cuts.some((cut) => cut !== null && cut !== 0)) return null;
  const into = opNamed('addConv2dWeightGrad_');
  return { kind: 'accumulate', operands: [0, 0, null], into, attrs: () => attrs };
};

/** Rows are independent, each with its label; the fraction of one row is known in advance. */
const crossEntropyGrad: Rule = ({ cuts: [share, target, out] }) => {
  if (share !== null || (target ?? 0) !== 0 || (out ?? 0) !== 0) return null;
  return { kind: 'map', operands: [null, 0, 0], outputs: [0] };
};

const labelledLoss: Rule = ({ cuts: [scores, target] }) =>
  scores === 0 && (target ?? 0) === 0 ? { kind: 'labelScores', operands: [0, 0] } : null;

const rules: Readonly<Record<string, Rule>> = {
  reshape: reshaped,
  reshapeLike: reshaped,
  permute: permuted,
  narrow: besideDim,
  narrowGrad: besideDim,
  cat: besideDim,
  contiguous: copied,
  expand: expanded,
  expandLike: expanded,
  softmax: alongLast,
  softmaxGrad: alongLast,
  logSoftmax: alongLast,
  logSoftmaxGrad: alongLast,
  crossEntropyGrad,
  nllLoss: labelledLoss,
  matmul: product,
  standardizeAffine: standardized,
  standardizeAffineGrad: standardizedGrad,
  standardizeWeightGrad: standardizedWeightGrad,
  sum,
  sumTo,
  unreduce: unreduced,
  conv2d: perImage,
  conv2dInputGrad: perImage,
  conv2dWeightGrad: convWeightGrad,
  maxPool2d: perImage,
  maxPool2dCoded: perImage,
  maxPool2dGrad: perImage,
  maxPool2dCodedGrad: perImage,
};
