import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { mayRefuse } from './control-effects.ts';

/**
 * Returns the ops whose order is searched, in program order. A view allocates no memory and keeps none alive that its
 * readers don't, so it runs right before its first reader. The search therefore finds the same order with any number of
 * views between the ops.
 */
export function movableOps({ ops, values }: Program): readonly ProgramOp[] {
  const read = new Uint8Array(values.length);
  for (const { inputs } of ops) for (const id of inputs) read[id] = 1;
  return ops.filter((op) => !followsReader(op, read));
}

/** Whether the op is a view that has a reader and can't throw: its readers determine its position. */
function followsReader(op: ProgramOp, read: Uint8Array): boolean {
  return op.op.kernel.kind === 'view' && !mayRefuse(op) && read[op.outputs[0]!] === 1;
}

/** Returns all ops of the program, with the movable ones in the given order. */
export function withViews({ ops }: Program, ordered: readonly ProgramOp[]): readonly ProgramOp[] {
  const moving = new Set(ordered);
  const waiting = new Map<ValueId, ProgramOp>();
  for (const op of ops) if (!moving.has(op)) waiting.set(op.outputs[0]!, op);
  const result: ProgramOp[] = [];
  const insert = (op: ProgramOp): void => {
    for (const id of op.inputs) {
      const view = waiting.get(id);
      if (!view) continue;
      waiting.delete(id);
      insert(view);
    }
    result.push(op);
  };
  for (const op of ordered) insert(op);
  return result;
}
