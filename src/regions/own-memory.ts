import type { JointProgram, ValueId } from '../../runtime/program/program.ts';
import type { BackwardOp } from './optional-gradients.ts';

/**
 * Whether each gradient that the op returns has memory of its own. Others may be an incoming gradient, or share memory
 * with another result: both must be copied before one of them is written in place.
 */
export function ownResults({ regions, of, to, carried }: BackwardOp): boolean[] {
  if (!regions) return to.map(() => false);
  // A loop without iterations forwards its loop-carried values.
  const first = carried > 0 ? 0 : 1;
  const owned = regions.map(({ joint }) => (joint ? ownGradients(joint) : []));
  // A region that adds nothing forwards the partial sum.
  const results = regions.at(-1)!.program.outputs.length;
  const goesThrough = (operand: number) => of.includes(results + operand - first);
  return to.map((operand) => {
    return (
      operand >= carried &&
      !goesThrough(operand) &&
      owned.every((each) => each[operand - first] ?? true)
    );
  });
}

/** Whether an op of backward computed the gradient, and it is unaliased. */
function ownGradients({ program, forwardOps, gradInputs }: JointProgram): boolean[] {
  const roots = new Map<ValueId, ValueId>();
  const rootOf = (id: ValueId): ValueId => roots.get(id) ?? id;
  const made = new Set<ValueId>();
  program.ops.forEach(({ op, inputs, outputs }, index) => {
    if (op.kernel.kind === 'view') roots.set(outputs[0]!, rootOf(inputs[0]!));
    else if (index >= forwardOps && op.kernel.kind !== 'control') {
      for (const id of outputs) made.add(id);
    }
  });
  const times = new Map<ValueId, number>();
  for (const id of gradInputs) {
    if (id !== null) times.set(rootOf(id), (times.get(rootOf(id)) ?? 0) + 1);
  }
  return gradInputs.map((id) => {
    return id === null || (made.has(rootOf(id)) && times.get(rootOf(id)) === 1);
  });
}
