import { isGradientSum, optionalGradientsOf, optionalOperands } from './optional-gradients.ts';
import type { Step } from './plan.ts';
import type { ProgramOp, ValueId, ValueTable } from './program.ts';
import { bytesOf } from './value-bytes.ts';

/** Memory that a step of a plan makes, and how long it is live. */
export interface Allocation {
  readonly step: number;
  /** Number of the output of that step. */
  readonly output: number;
  readonly bytes: number;
  /** The step that frees the last value in it; undefined: it outlives the run. */
  readonly diesAt: number | undefined;
  /** Others may hold it, so its release is data-dependent. */
  readonly shared: boolean;
}

interface Owned extends Allocation {
  owners: number;
  diesAt: number | undefined;
  shared: boolean;
}

/**
 * The allocations of the steps, in order. Views share the memory of their base, reusing outputs that of the operand.
 * What an op for which `sharesAll` holds reads or makes counts as shared.
 */
export function allocationsOf(
  steps: readonly Step[],
  values: ValueTable,
  sharesAll: (op: ProgramOp) => boolean = () => false,
): readonly Allocation[] {
  const all: Owned[] = [];
  const memoryOf = new Map<ValueId, Owned>();
  const optional = optionalGradientsOf(steps.map(({ op }) => op));
  steps.forEach(({ op, reuses, frees }, step) => {
    const { kernel } = op.op;
    op.outputs.forEach((id, output) => {
      const base = kernel.kind === 'view' ? op.inputs[0] : (reuses[output] ?? undefined);
      let memory = base === undefined ? undefined : memoryOf.get(base);
      if (base === undefined) {
        const bytes = bytesOf(values, id);
        memory = { step, output, bytes, owners: 0, diesAt: undefined, shared: false };
        all.push(memory);
      }
      if (!memory) return;
      memory.owners++;
      memoryOf.set(id, memory);
    });
    // The sum of a gradient that is missing is the other one, not a copy of it.
    const passesOn = isGradientSum(op.op) && optionalOperands(op, optional).length > 0;
    if (passesOn || kernel.kind === 'control' || sharesAll(op)) {
      for (const id of [...op.inputs, ...op.outputs]) {
        const memory = memoryOf.get(id);
        if (memory) memory.shared = true;
      }
    }
    for (const id of frees) {
      const memory = memoryOf.get(id);
      memoryOf.delete(id);
      if (memory && --memory.owners === 0) memory.diesAt = step;
    }
  });
  return all;
}
