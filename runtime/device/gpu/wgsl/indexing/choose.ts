/** Selection of elements and entries by index tensors. A GPU can't throw: an out-of-range index reads NaN. */

import { contiguousStrides, sizeOf } from '../../../../spec/shape.ts';
import type { TensorMeta } from '../../../tensor-meta.ts';
import { type Entries, entriesOf } from '../../core/entries.ts';
import { input, output } from '../../core/kernel-plan.ts';
import { along, type ElementOperand, elementStage } from '../element-stage.ts';
import { elementTypeOf, valueTypeOf } from '../elements/element-type.ts';
import type { KernelPlanner } from '../wgsl-plan.ts';
import type { WgslWriter } from '../wgsl-writer.ts';

/** Returns the strides with stride 0 in the dimension along which an index selects. */
export function strideless(strides: readonly number[], dim: number): readonly number[] {
  return strides.map((stride, d) => (d === dim ? 0 : stride));
}

/** As a u32, a negative index exceeds every size. */
export function indexText(stored: string): string {
  return `u32(${stored})`;
}

/** Returns the value that an out-of-range index reads. */
function nothingText({ dtype }: TensorMeta): string {
  return valueTypeOf(elementTypeOf(dtype)) === 'f32' ? 'u.nan' : '0i';
}

/** (x, index; any strides) → out[i][j] = x[index[i][j]][j] for `dim` 0. */
export const elementsPlan: KernelPlanner = ([x, index], [out], attrs) => {
  const dim = attrs.dim as number;
  const operands = [
    { slot: input(0), strides: strideless(x!.strides, dim), type: elementTypeOf(x!.dtype) },
    along(input(1), index!),
    along(output(0), out!, true),
  ];
  const stage = elementStage(out!.shape, operands, ({ w, at, store }) => {
    const chosen = w.let(indexText(at(1)));
    const further = `${chosen} * ${w.count('step', x!.strides[dim]!)}`;
    w.line(
      `var value = ${nothingText(x!)};`,
      `if (${chosen} < ${w.count('size', x!.shape[dim]!)}) { value = ${at(0, further)}; }`,
      store(2, 'value'),
    );
  });
  return { scratch: [], stages: [stage] };
};

/** Writes the index of the row that a choice selects; all bits are set if there is none. */
export function rowText(
  w: WgslWriter,
  { sizes, chosen, wraps }: Entries,
  at: (further: string) => string,
): string {
  const row = w.name();
  const strides = contiguousStrides(sizes);
  w.line(`var ${row} = 0u;`);
  sizes.forEach((size, k) => {
    const dimSize = w.count(`size${k}`, size);
    const signedIndex = w.let(indexText(at(k === 0 ? '0u' : w.count(`choices${k}`, k * chosen))));
    // As a u32: an index from the end overflows to a valid one, an index before the start doesn't.
    const wrap = w.count(`wrap${k}`, wraps ? size : 0);
    const place = w.let(
      `select(${signedIndex}, ${signedIndex} + ${wrap}, ${signedIndex} >= ${dimSize})`,
    );
    const stride = w.count(`stride${k}`, strides[k]!);
    w.line(
      `${row} = select(${row} + ${place} * ${stride}, ${none}, ${place} >= ${dimSize} || ${row} == ${none});`,
    );
  });
  return row;
}

/** A number that is not a row index. */
const none = '0xffffffffu';

/** (x, index [dimensions, …selected]) → the rows that the index selects. */
export const indexPlan: KernelPlanner = ([x, index], _outputs, attrs) => {
  const entries = entriesOf(x!, index!, attrs);
  const { outer, rows, inner, chosen } = entries;
  const shape = [outer, chosen, inner];
  const type = elementTypeOf(x!.dtype);
  const operands: readonly ElementOperand[] = [
    { slot: input(0), strides: [rows * inner, 0, 1], type },
    { slot: input(1), strides: [0, 1, 0], type: elementTypeOf(index!.dtype) },
    {
      slot: output(0),
      strides: contiguousStrides(shape),
      written: true,
      elements: sizeOf(shape),
      type,
    },
  ];
  const stage = elementStage(shape, operands, ({ w, at, store }) => {
    const row = rowText(w, entries, (further) => at(1, further));
    w.line(
      `var value = ${nothingText(x!)};`,
      `if (${row} != ${none}) { value = ${at(0, `${row} * ${w.count('inner', inner)}`)}; }`,
      store(2, 'value'),
    );
  });
  return { scratch: [], stages: [stage] };
};
