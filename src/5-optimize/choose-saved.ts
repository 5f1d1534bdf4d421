import type { JointProgram, Program } from '../../runtime/program/program.ts';
import { eliminateDeadCode } from './dead-code.ts';
import { joinedGradients } from './joined-gradients.ts';
import { labelGradient } from './label-gradient.ts';
import { pooledRelu } from './pooled-relu.ts';
import { redoLate } from './redo-late.ts';
import { shareCopies } from './share-copies.ts';
import { shareParts } from './share-parts.ts';

/**
 * In: a joint program. Out: one that keeps less from forward to backward and computes the same, to the
 * last bit, with no arithmetic done twice. Its forward part has the same ops and values.
 */
export function chooseSaved(joint: JointProgram): JointProgram {
  const { forwardOps: firstLate } = joint;
  const shared = shareParts(shareCopies(simplerGradients(joint.program, firstLate)), firstLate);
  const program = redoLate(shared, { firstLate, inputsStay: false });
  const late = eliminateDeadCode(program.ops.slice(firstLate), program.outputs);
  return { ...joint, program: { ...program, ops: [...program.ops.slice(0, firstLate), ...late] } };
}

/** The same for a program that has its backward in it: what runs after the last recorded op. */
export function chooseSavedInStep(program: Program): Program {
  const firstLate = program.ops.findLastIndex((op) => op.recordsGrad) + 1;
  const shared = shareParts(shareCopies(simplerGradients(program, firstLate)), firstLate);
  const redone = redoLate(shared, { firstLate, inputsStay: true });
  return { ...redone, ops: eliminateDeadCode(redone.ops, redone.outputs) };
}

/** The same gradients from smaller tensors. Ops before the first late one stay as they are. */
function simplerGradients(program: Program, firstLate: number): Program {
  return joinedGradients(labelGradient(pooledRelu(program)), firstLate);
}
