import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';
import type { Program, ProgramOp } from '../../../runtime/program/program.ts';
import type { OpIndex } from './memory-graph.ts';

/** For each op, the ops that do the same for other parts, including itself; undefined if there are no others. */
export type Families = readonly (readonly OpIndex[] | undefined)[];

/** Larger families would take too many cuts. */
const largest = 16;

/**
 * Groups ops of one kind that come from one line of user code, have results of one shape, and read results of the same
 * groups: layers that run the same code are in different groups, as they read different weights. Operands that ops add
 * to in place are ignored, since every part adds to earlier results.
 */
export function familiesOf({ values, ops: all }: Program, ops: readonly ProgramOp[]): Families {
  const kinds = new Map<string, number>();
  const kindOf = new Int32Array(values.length).fill(-1);
  const families = new Map<number, OpIndex[]>();
  const found: (OpIndex[] | undefined)[] = [];
  for (const each of all) {
    const { op, outputs, inputs, at } = each;
    // A `console` op may print no value.
    const shape = values[outputs[0] ?? inputs[0]!]?.shape.join() ?? '';
    const read = (op.inPlace ? inputs.slice(1) : inputs).map((id) =>
      kindOf[id]! < 0 ? `i${id}` : kindOf[id]!,
    );
    const key = `${op.name} ${shape} ${at?.file}:${at?.line}:${at?.column} ${read.join()}`;
    const kind = kinds.get(key) ?? kinds.size;
    kinds.set(key, kind);
    for (const id of outputs) kindOf[id] = kind;
    const index = found.length;
    if (each !== ops[index]) continue;
    getOrInsert(families, kind, () => []).push(index);
    found.push(families.get(kind));
  }
  return found.map((family) =>
    family!.length > 1 && family!.length <= largest ? family : undefined,
  );
}
