import type { FusedBody } from '../../../ops/expr/fused-body.ts';
import { newTypedArray } from '../../../spec/dtype.ts';
import { broadcastStrides } from '../../../spec/shape.ts';
import type { Launch } from '../../device.ts';
import type { Attrs, AttrValue } from '../../kernel-op.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { heap } from '../core/heap.ts';
import { indexOf } from '../core/kernel.ts';
import { collapse, walk } from '../core/loops.ts';
import { elementOf, type ScalarCursor } from '../scalar/pointwise.ts';

/**
 * Computes a fused op element by element: each part stores its result in an array of one element, which later
 * parts read, so that it is rounded as in memory. The oracle of the generated kernels, and their fallback.
 */
export function scalarFused(
  { shape, parts, results, writes }: FusedBody,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
): Launch {
  const metas = [...inputs, ...outputs];
  const operands = metas.map(({ dtype }): ScalarCursor => ({ dtype, view: heap.u8, at: 0 }));
  const partCursors = parts.map(({ dtype }): ScalarCursor => {
    return { dtype, view: newTypedArray(dtype, 1), at: 0 };
  });
  const attrsOf = attrsByPart(attrs);
  const elements = parts.map(({ expr, operands: read, dtype }, i) => {
    const cursors = read.map((each) =>
      'part' in each ? partCursors[each.part]! : operands[each.operand]!,
    );
    return elementOf(expr, cursors, dtype, attrsOf.get(i) ?? {});
  });
  const stores = [
    ...results.map((part, i) => [inputs.length + i, part] as const),
    ...writes.map(({ operand, part }) => [operand, part] as const),
  ];
  const loops = collapse(
    shape,
    metas.map((meta) => broadcastStrides(meta.shape, meta.strides, shape)),
  );
  return (sources, targets) => {
    const at = [...sources, ...targets].map((operand, k) => {
      const { dtype } = operands[k]!;
      operands[k]!.view = heap.view(dtype);
      return indexOf(operand, dtype);
    });
    walk(loops, at, () => {
      operands.forEach((cursor, k) => {
        cursor.at = at[k]!;
      });
      elements.forEach((element, i) => {
        partCursors[i]!.view[0] = element();
      });
      for (const [operand, part] of stores) {
        operands[operand]!.view[at[operand]!] = partCursors[part]!.view[0]!;
      }
    });
  };
}

/** Returns the attributes of each part that has any, by the names its expression uses. */
function attrsByPart(attrs: Attrs): ReadonlyMap<number, Attrs> {
  const entries = new Map<number, [string, AttrValue][]>();
  for (const [name, value] of Object.entries(attrs)) {
    const dot = name.indexOf('.');
    const part = Number(name.slice(0, dot));
    const partEntries = entries.get(part) ?? [];
    entries.set(part, partEntries);
    partEntries.push([name.slice(dot + 1), value]);
  }
  return new Map([...entries].map(([part, own]) => [part, Object.fromEntries(own)]));
}
