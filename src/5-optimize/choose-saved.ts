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
  const simpler = labelGradient(pooledRelu(joint.program));
  // With the gradient of one result missing, sums have other zeros.
  const isWhole = joint.gradOutputs.filter((id) => id !== null).length === 1;
  const whole = isWhole ? joinedGradients(simpler, firstLate) : simpler;
  const shared = shareParts(shareCopies(whole), firstLate);
  const program = redoLate(shared, { firstLate, inputsStay: false });
  const late = eliminateDeadCode(program.ops.slice(firstLate), program.outputs);
  return { ...joint, program: { ...program, ops: [...program.ops.slice(0, firstLate), ...late] } };
}

/** The same for a program that has its backward in it: what runs after the last recorded op. */
export function chooseSavedInStep(program: Program): Program {
  const firstLate = program.ops.findLastIndex((op) => op.recordsGrad) + 1;
  const joined = joinedGradients(labelGradient(pooledRelu(program)), firstLate);
  const shared = shareParts(shareCopies(joined), firstLate);
  const redone = redoLate(shared, { firstLate, inputsStay: true });
  return { ...redone, ops: eliminateDeadCode(redone.ops, redone.outputs) };
}

/**
 * The same for a backward that is to be differentiated: what keeps every gradient its way. What it reads
 * beyond what the other form has kept can be made of that.
 */
export function chooseSavedAgain(program: Program): Program {
  return shareCopies(pooledRelu(program), { recorded: true });
}
