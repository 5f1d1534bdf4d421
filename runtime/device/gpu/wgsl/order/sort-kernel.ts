import { sizeOf } from '../../../../spec/shape.ts';
import { input, output, type Slot } from '../../core/kernel-plan.ts';
import { type ElementType, elementTypeOf, valueTypeOf } from '../elements/element-type.ts';
import { splitText } from '../index-text.ts';
import { type KernelPlanner, readOperand, type WgslOperand } from '../wgsl-plan.ts';
import { type Lines, type SortedTarget, sortLines } from './sorted-lines.ts';

/** (x) → [values, indices]: the first `count` in order along `dim`, with NaN as the largest. */
export const sortPlan: KernelPlanner = ([x], [values], attrs) => {
  const { shape } = x!;
  const dim = attrs.dim as number;
  const size = shape[dim]!;
  const [outer, inner] = [sizeOf(shape.slice(0, dim)), sizeOf(shape.slice(dim + 1))];
  const count = attrs.count as number;
  const elements = sizeOf(values!.shape);
  const type = elementTypeOf(x!.dtype);
  const read = readOperand(input(0), type);
  const written = (slot: Slot, own: ElementType): WgslOperand => {
    return { slot, written: true, walk: null, elements, type: own };
  };
  const target: SortedTarget = {
    operands: [read, written(output(0), type), written(output(1), 'int32')],
    store: (w, { at, store }) => {
      const [length, own] = [w.count('size', size), w.count('count', count)];
      const [row, column] = splitText(w, 'line', w.count('inner', inner));
      const index = (rows: string, entry: string) =>
        `(${row} * ${rows} + ${entry}) * u.inner + ${column}`;
      w.line(`if (rank >= ${own}) { return; }`);
      const to = w.let(index(own, 'rank'));
      w.line(store(1, to, at(0, index(length, 'place'))), store(2, to, 'i32(place)'));
    },
  };
  if (count === 0) return { scratch: [], stages: [] };
  const lines: Lines = {
    count: outer * inner,
    size,
    source: read,
    writeKey: (w, at) => {
      const [row, column] = splitText(w, 'line', w.count('inner', inner));
      const index = `(${row} * ${w.count('size', size)} + k) * u.inner + ${column}`;
      const flipped = w.count('flipped', attrs.descending ? 0xffffffff : 0);
      w.line(`return ${orderKeyText(type, at(0, index))} ^ ${flipped};`);
    },
  };
  return sortLines(lines, target);
};

/** Returns an order-preserving u32 key of the value. */
export function orderKeyText(type: ElementType, value: string): string {
  return valueTypeOf(type) === 'f32' ? `f_order_key(${value})` : `f_int_order_key(${value})`;
}
