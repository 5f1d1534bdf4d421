import type { Program, ProgramOp } from '../../../runtime/program/program.ts';
import type { OpIndex } from './memory-graph.ts';

/** For each op, the ops that do the same for other parts, including itself; undefined if there are none. */
export type Families = readonly (readonly OpIndex[] | undefined)[];

/** Larger families would take too many cuts. */
const largest = 16;

/** Groups ops of one kind that come from one line of user code and have results of one shape. */
export function familiesOf({ values }: Program, ops: readonly ProgramOp[]): Families {
  const families = new Map<string, OpIndex[]>();
  const keys = ops.map(({ op, outputs, inputs, at }) => {
    // A `console` op may show no value.
    const shape = values[outputs[0] ?? inputs[0]!]?.shape.join() ?? '';
    return `${op.name} ${shape} ${at?.file}:${at?.line}:${at?.column}`;
  });
  keys.forEach((key, index) => {
    const family = families.get(key);
    if (family) family.push(index);
    else families.set(key, [index]);
  });
  return keys.map((key) => {
    const family = families.get(key)!;
    return family.length > 1 && family.length <= largest ? family : undefined;
  });
}
