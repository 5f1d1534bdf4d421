/** Groups of a tensor's elements that are standardized together, and the facts shared by ops on groups. */

import type { Attrs, OperandUse } from '../../device/kernel-op.ts';
import type { RowCut, RowSlice } from '../../device/staged-body.ts';
import { isContiguousMeta, type TensorMeta } from '../../device/tensor-meta.ts';
import { type Shape, sizeOf } from '../../spec/shape.ts';
import type { Fits } from '../record/define-op.ts';
import type { DTypeRule } from '../record/operand-dtypes.ts';
import type { RowRule } from '../record/row-cuts.ts';

/** The partition of a tensor into groups. */
export interface Grouping {
  /** The tensor's shape with some dimensions to be reduced. */
  readonly view: Shape;
  /** The dimensions of `view` that each mean covers: the last ones, or the first and the last. */
  readonly over: readonly number[];
  /** The weights' shape, which broadcasts to `view`. */
  readonly weightShape: Shape;
  readonly eps: number;
  /** Whether to subtract the mean; otherwise only divides by the root mean square. */
  readonly centered: boolean;
}

const groupingRules = {
  view: 'sizes',
  over: 'sizes',
  weightShape: 'sizes',
  eps: 'number',
  centered: 'boolean',
} as const;

export const groupingOf = (attrs: Attrs): Grouping => attrs as unknown as Grouping;

/** Whether the operand has a number per weight, rather than elements or statistics of groups. */
const isPerWeight = (name: string): boolean => name === 'weight' || name === 'bias';

/**
 * Returns the facts of an op on groups that follow from its operands' names. The first operand may have half precision;
 * statistics, weights and biases are then float32.
 */
export function onGroups<const O extends Readonly<Record<string, OperandUse>>>(operands: O) {
  const names = Object.keys(operands);
  const wide = names.filter((name) => name === 'stats' || isPerWeight(name));
  const rules: [string, DTypeRule][] = wide.map((name) => [name, 'wide']);
  const fits: Fits = (inputs, attrs) => {
    const named: unknown = Object.fromEntries(names.map((name, i) => [name, inputs[i]]));
    return fitsGrouping(named as Grouped, attrs);
  };
  return {
    operands,
    attrs: groupingRules,
    fits,
    dtypes: Object.fromEntries([[names[0]!, 'floating'], ...rules]) as Partial<
      Readonly<Record<keyof O, DTypeRule>>
    >,
    numbers: ['eps'],
  };
}

interface Grouped {
  readonly x: TensorMeta;
  readonly stats?: TensorMeta;
  readonly weight?: TensorMeta;
}

/** Requires that the groups, by which kernels address memory, cover the operand and that statistics and weights fit. */
function fitsGrouping({ x, stats, weight }: Grouped, attrs: Attrs): true | string {
  const { view, over, weightShape } = groupingOf(attrs);
  const areDims = new Set(over).size === over.length && over.every((dim) => dim < view.length);
  const lead = view.length - weightShape.length;
  const isWeighed =
    lead >= 0 && weightShape.every((size, d) => size === 1 || size === view[lead + d]);
  const groups = sizeOf(view.filter((_, d) => !over.includes(d)));
  const fits =
    sizeOf(view) === sizeOf(x.shape) &&
    areDims &&
    isWeighed &&
    (!stats || sizeOf(stats.shape) === 2 * groups) &&
    (!weight || sizeOf(weight.shape) === sizeOf(weightShape));
  return fits || 'groups that cover the operand, with their statistics and weights';
}

/** Cuts into consecutive groups if groups are contiguous and weights repeat. */
export function groupRows(operands: object): RowRule {
  const sliced = Object.keys(operands).map((name) => !isPerWeight(name));
  return (inputs, outputs, attrs) => {
    const grouping = groupingOf(attrs);
    const { view, over, weightShape } = grouping;
    if (![...inputs, ...outputs].every(isContiguousMeta)) return [];
    const weighed = weightShape.findIndex((size) => size !== 1);
    const firstWeighed = weighed < 0 ? view.length : view.length - weightShape.length + weighed;
    const cuts: RowCut[] = [];
    for (let lead = Math.min(over[0] ?? 0, firstWeighed); lead >= 1; lead--) {
      const count = sizeOf(view.slice(0, lead));
      if (count < 2) continue;
      const slice = ({ shape }: TensorMeta): RowSlice => {
        const size = sizeOf(shape) / count;
        return { step: size, shape: [size], strides: [1] };
      };
      const inside = view.slice(lead);
      const trimmed = weightShape.slice(Math.max(0, weightShape.length - inside.length));
      cuts.push({
        count,
        inputs: inputs.map((meta, i) => (sliced[i] ? slice(meta) : null)),
        outputs: outputs.map(slice),
        attrs: (rows) => ({
          ...attrs,
          view: [rows, ...inside],
          over: over.map((dim) => dim - lead + 1),
          weightShape: trimmed,
        }),
        least: 1,
      });
    }
    return cuts;
  };
}

/** Whether the elements of each group are contiguous. */
export function isRows({ view, over }: Grouping): boolean {
  return over.every((dim, i) => dim === view.length - over.length + i);
}

/** Whether each group is a channel of a batch, with a single weight. */
export function isChannels({ view, over, weightShape }: Grouping): boolean {
  return view.length === 3 && over.join() === '0,2' && weightShape.join() === `${view[1]},1`;
}

/** Whether each weight belongs to the same position in every group. */
export function isWeighedByColumn({ over, view, weightShape }: Grouping): boolean {
  return weightShape.length <= over.length && sizeOf(weightShape) === groupSize({ view, over });
}

const groupSize = ({ view, over }: Pick<Grouping, 'view' | 'over'>): number =>
  sizeOf(over.map((dim) => view[dim]!));
