import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { mayRefuse } from './control-effects.ts';

/**
 * The ops whose order is searched, in the order of the source. A view makes no memory and keeps none that its
 * readers don't: it runs right before the first of them. So a program has the same orders, and the search finds
 * the same one, however many views stand between its ops.
 */
export function movableOps({ ops, values }: Program): readonly ProgramOp[] {
  const read = new Uint8Array(values.length);
  for (const { inputs } of ops) for (const id of inputs) read[id] = 1;
  return ops.filter((op) => !followsReader(op, read));
}

/** Views that some op reads and that reject nothing: those of memory are placed by their readers. */
function followsReader(op: ProgramOp, read: Uint8Array): boolean {
  return op.op.kernel.kind === 'view' && !mayRefuse(op) && read[op.outputs[0]!] === 1;
}

/** All ops of the program, those that move in the order that is given. */
export function withViews({ ops }: Program, ordered: readonly ProgramOp[]): readonly ProgramOp[] {
  const moving = new Set(ordered);
  const waiting = new Map<ValueId, ProgramOp>();
  for (const op of ops) if (!moving.has(op)) waiting.set(op.outputs[0]!, op);
  const result: ProgramOp[] = [];
  const place = (op: ProgramOp): void => {
    for (const id of op.inputs) {
      const view = waiting.get(id);
      if (!view) continue;
      waiting.delete(id);
      place(view);
    }
    result.push(op);
  };
  for (const op of ordered) place(op);
  return result;
}
