import { operandUse } from '../../runtime/device/kernel-op.ts';
import type { SavedValues } from '../../runtime/program/plan.ts';
import type { JointProgram, Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';

interface SplitPrograms {
  readonly forward: Program;
  readonly backward: Program;
  readonly saved: SavedValues;
}

/**
 * In: a joint program without dead ops in its backward part. Out: forward and backward over one value table, and
 * what backward needs from forward. Guarantees: a value is saved with data only if an op of backward reads its
 * data; a value that backward reads only for its shape is a no-need-buffer value.
 */
export function split(joint: JointProgram): SplitPrograms {
  const { values, ops } = joint.program;
  const forwardOps = ops.slice(0, joint.forwardOps);
  const backwardOps = ops.slice(joint.forwardOps);
  const defined = new Set<ValueId>([
    ...joint.forwardInputs,
    ...forwardOps.flatMap((op) => op.outputs),
  ]);
  return {
    forward: {
      values,
      inputs: joint.forwardInputs,
      ops: forwardOps,
      outputs: joint.forwardOutputs,
    },
    backward: {
      values,
      inputs: joint.gradOutputs.filter((id) => id !== null),
      ops: backwardOps,
      outputs: joint.program.outputs,
    },
    saved: savedValues(backwardOps, joint.program.outputs, defined),
  };
}

/** The skip set of forward: what backward reads, except values read only for their shape. */
function savedValues(
  backwardOps: readonly ProgramOp[],
  gradients: readonly ValueId[],
  defined: ReadonlySet<ValueId>,
): SavedValues {
  const withData = new Set<ValueId>(gradients.filter((id) => defined.has(id)));
  const shapeOnly = new Set<ValueId>();
  for (const { op, inputs } of backwardOps) {
    inputs.forEach((id, i) => {
      if (defined.has(id)) (operandUse(op, i) === 'data' ? withData : shapeOnly).add(id);
    });
  }
  return {
    withData: [...withData].sort((a, b) => a - b),
    noNeedBuffer: [...shapeOnly].filter((id) => !withData.has(id)).sort((a, b) => a - b),
  };
}
