import type { Attrs, KernelOp } from '../../device/kernel-op.ts';
import type { RowCut, RowSlice } from '../../device/staged-body.ts';
import { isContiguousMeta, type TensorMeta } from '../../device/tensor-meta.ts';
import { broadcastStrides, sizeOf } from '../../spec/shape.ts';

/** Returns the cuts that an op allows, most rows first; the `outputs` of an in-place write are its target. */
export type RowRule = (
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
) => readonly RowCut[];

/** Merges the first `lead` dimensions into rows; null if these aren't evenly spaced in memory. */
function rowSlice(
  { shape, strides }: Pick<TensorMeta, 'shape' | 'strides'>,
  lead: number,
): RowSlice | null {
  let step: number | null = null;
  let span = 0;
  for (let d = lead - 1; d >= 0; d--) {
    if (shape[d] === 1) continue;
    if (step !== null && strides[d] !== span) return null;
    step ??= strides[d]!;
    span = strides[d]! * shape[d]!;
  }
  return { step: step ?? 0, shape: shape.slice(lead), strides: strides.slice(lead) };
}

interface CutOptions {
  /** Whether every row reads the operand as a whole. */
  readonly whole?: (index: number) => boolean;
  readonly attrs: (rows: number, lead: number) => Attrs;
  readonly least?: number;
}

/** Returns the cut after the first `lead` dimensions, which all sliced operands and results have in common. */
export function cutBehind(
  lead: number,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  { whole = () => false, attrs, least = 1 }: CutOptions,
): RowCut | null {
  const count = sizeOf(outputs[0]!.shape.slice(0, lead));
  const slices = inputs.map((meta, i) => (whole(i) ? null : rowSlice(meta, lead)));
  const results = outputs.map((meta) => rowSlice(meta, lead));
  if (count < 2 || !results.every(isSliced)) return null;
  if (slices.some((slice, i) => slice === null && !whole(i))) return null;
  return { count, inputs: slices, outputs: results, attrs: (rows) => attrs(rows, lead), least };
}

function isSliced(slice: RowSlice | null): slice is RowSlice {
  return slice !== null;
}

/** Returns the cuts after each of the first `most` dimensions. */
export function cutsUpTo(most: number, cut: (lead: number) => RowCut | null): RowCut[] {
  const cuts: RowCut[] = [];
  for (let lead = most; lead >= 1; lead--) {
    const found = cut(lead);
    if (found) cuts.push(found);
  }
  return cuts;
}

/** For ops with contiguous operands and results of one shape: rows are along the last dimension. */
export const alongLastRows: RowRule = (inputs, outputs, attrs) => {
  if (![...inputs, ...outputs].every(isContiguousMeta)) return [];
  const rank = outputs[0]!.shape.length;
  return cutsUpTo(rank - 1, (lead) => cutBehind(lead, inputs, outputs, { attrs: () => attrs }));
};

/**
 * For ops along attr `dim`, or over attr `dims`, of contiguous operands: rows of the dimensions before all of these.
 */
export const rowsBeforeDims: RowRule = (inputs, outputs, attrs) => {
  const dims = (attrs.dims ?? [attrs.dim]) as readonly number[];
  if (!inputs.every(isContiguousMeta) || dims.length === 0) return [];
  const within = (_rows: number, lead: number): Attrs => {
    const innerDims = dims.map((dim) => dim - lead + 1);
    // Each kernel reads either `dim` or `dims`.
    return { ...attrs, dim: innerDims[0]!, dims: innerDims };
  };
  return cutsUpTo(Math.min(...dims), (lead) => cutBehind(lead, inputs, outputs, { attrs: within }));
};

/** One row per entry of the first dimension, such as images; operands in `whole` are read by every row. */
export function perEntry(...whole: readonly number[]): RowRule {
  return (inputs, outputs, attrs) => {
    if (![...inputs, ...outputs].every(isContiguousMeta)) return [];
    const isWhole = (index: number) => whole.includes(index);
    const options = { whole: isWhole, attrs: () => attrs };
    return cutsUpTo(1, (lead) => cutBehind(lead, inputs, outputs, options));
  };
}

/**
 * A float32 sum over the entries of the first dimension, which `accumulate` continues in place, bitwise identically;
 * operands in `whole` have no such entries.
 */
export function summedEntries(accumulate: () => KernelOp, ...whole: readonly number[]): RowRule {
  return (inputs, outputs, attrs) => {
    const slices = inputs.map((meta, i) => (whole.includes(i) ? null : rowSlice(meta, 1)));
    const isDense = [...inputs, ...outputs].every(
      (meta, i) => whole.includes(i) || isContiguousMeta(meta),
    );
    const count = inputs[0]!.shape[0] ?? 0;
    if (!isDense || count < 2 || outputs[0]!.dtype !== 'float32') return [];
    return [
      {
        count,
        inputs: slices,
        outputs: [null],
        attrs: () => attrs,
        least: 1,
        accumulate: accumulate(),
      },
    ];
  };
}

/** float32 random numbers, each at its own position in the stream, starting at attr `offset`. */
export const drawnRows: RowRule = (_inputs, outputs, attrs) => {
  const { dtype, shape } = outputs[0]!;
  if (dtype !== 'float32') return [];
  return cutsUpTo(shape.length, (lead) => {
    const row = shape.slice(lead);
    const attrsOf = (rows: number): Attrs => ({ ...attrs, shape: [rows, ...row] });
    const cut = cutBehind(lead, [], outputs, { attrs: attrsOf });
    return cut && { ...cut, advances: { offset: sizeOf(row) } };
  });
};

/** For ops over the elements of one shape, to which operands broadcast. */
export const pointwiseRows: RowRule = (inputs, outputs, attrs) => {
  const { shape } = outputs[0]!;
  const spread = inputs.map((meta) => ({
    ...meta,
    shape,
    strides: broadcastStrides(meta.shape, meta.strides, shape),
  }));
  return cutsUpTo(shape.length, (lead) => cutBehind(lead, spread, outputs, { attrs: () => attrs }));
};
