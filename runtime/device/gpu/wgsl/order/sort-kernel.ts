import { sizeOf } from '../../../../spec/shape.ts';
import type { Attrs } from '../../../kernel-op.ts';
import type { TensorMeta } from '../../../tensor-meta.ts';
import { input, output, type Slot } from '../../core/kernel-plan.ts';
import { splitText } from '../index-text.ts';
import type { WgslOperand, WgslPlan } from '../wgsl-plan.ts';
import { type Lines, readOperand, type SortedTarget, sortLines } from './sorted-lines.ts';

/** (x) → [values, places]: the first `count` in order along `dim`, NaN as the largest. */
export function sortPlan(
  [x]: readonly TensorMeta[],
  [values]: readonly TensorMeta[],
  attrs: Attrs,
): WgslPlan {
  const { shape } = x!;
  const dim = attrs.dim as number;
  const size = shape[dim]!;
  const [outer, inner] = [sizeOf(shape.slice(0, dim)), sizeOf(shape.slice(dim + 1))];
  const count = attrs.count as number;
  const elements = sizeOf(values!.shape);
  const written = (slot: Slot): WgslOperand => ({ slot, written: true, walk: null, elements });
  const target: SortedTarget = {
    operands: [readOperand(input(0)), written(output(0)), written(output(1))],
    store: (w, at) => {
      const [length, own] = [w.count('size', size), w.count('count', count)];
      const [row, column] = splitText(w, 'line', w.count('inner', inner));
      const index = (rows: string, entry: string) =>
        `(${row} * ${rows} + ${entry}) * u.inner + ${column}`;
      w.line(`if (rank >= ${own}) { return; }`);
      const to = w.let(index(own, 'rank'));
      w.line(`${at(1, to)} = ${at(0, index(length, 'place'))};`, `${at(2, to)} = f32(place);`);
    },
  };
  if (count === 0) return { scratch: [], stages: [] };
  const lines: Lines = {
    count: outer * inner,
    size,
    source: input(0),
    writeKey: (w, at) => {
      const [row, column] = splitText(w, 'line', w.count('inner', inner));
      const index = `(${row} * ${w.count('size', size)} + k) * u.inner + ${column}`;
      const flipped = w.count('flipped', attrs.descending ? 0xffffffff : 0);
      w.line(`return f_order_key(${at(0, index)}) ^ ${flipped};`);
    },
  };
  return sortLines(lines, target);
}
