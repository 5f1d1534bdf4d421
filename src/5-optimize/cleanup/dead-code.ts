import { hasEffect } from '../../../runtime/program/control-ops.ts';
import { outputGradientOp } from '../../../runtime/program/output-gradient-op.ts';
import type { JointProgram, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import type { Staged } from '../facts/pass.ts';

/**
 * Eliminates ops whose outputs are unused. Keeps ops that `needed` values depend on, in-place writes, since they may be
 * visible elsewhere, ops with an observable effect, and gradients of outputs, which hooks or `grad` may ask for even if
 * they lead to no leaf.
 */
export function eliminateDeadCode(
  ops: readonly ProgramOp[],
  needed: Iterable<ValueId>,
): readonly ProgramOp[] {
  const live = new Set<ValueId>(needed);
  const kept: ProgramOp[] = [];
  for (let i = ops.length - 1; i >= 0; i--) {
    const op = ops[i]!;
    const isObserved = hasEffect(op) || op.op === outputGradientOp;
    if (!isObserved && !op.outputs.some((id) => live.has(id))) continue;
    for (const id of op.inputs) live.add(id);
    if (op.before !== undefined) live.add(op.before);
    kept.push(op);
  }
  return kept.reverse();
}

/** Eliminates dead ops of both parts of a joint program; forward outputs count as read. */
export function withoutDead(staged: Staged): Staged {
  const { program, alsoRead } = staged;
  const ops = eliminateDeadCode(program.ops, [...program.outputs, ...alsoRead]);
  const early = new Set(program.ops.slice(0, staged.firstLate));
  const firstLate = ops.filter((op) => early.has(op)).length;
  return { ...staged, program: { ...program, ops }, firstLate };
}

/** Eliminates dead ops of the backward part of a joint program; its forward part remains as the user wrote it. */
export function withoutDeadBackward(staged: Staged): Staged {
  const { program, firstLate, alsoRead } = staged;
  const { ops, outputs } = program;
  const backward = eliminateDeadCode(ops.slice(firstLate), outputs);
  const read = [...alsoRead, ...outputs, ...backward.flatMap(({ inputs }) => inputs)];
  const forward = dropUnreadCopies(ops.slice(0, firstLate), read);
  return {
    ...staged,
    program: { ...program, ops: [...forward, ...backward] },
    firstLate: forward.length,
  };
}

/** Eliminates dead backward ops of a region's joint program. */
export function eliminateDeadBackward(joint: JointProgram): JointProgram {
  const { program, forwardOps: firstLate, forwardOutputs: alsoRead } = joint;
  const staged = withoutDeadBackward({ program, firstLate, alsoRead });
  return { ...joint, program: staged.program, forwardOps: staged.firstLate };
}

/**
 * After differentiation, drops copies of overwritten values that no op reads. `read`: values that are read
 * elsewhere.
 */
export function dropUnreadCopies(
  ops: readonly ProgramOp[],
  read: Iterable<ValueId>,
): readonly ProgramOp[] {
  const copies = new Set(ops.flatMap(({ before }) => (before === undefined ? [] : [before])));
  if (copies.size === 0) return ops;
  for (const id of read) copies.delete(id);
  for (const { inputs } of ops) for (const id of inputs) copies.delete(id);
  return ops
    .filter(({ outputs }) => !outputs.some((id) => copies.has(id)))
    .map(({ before: _before, ...op }) => op);
}
