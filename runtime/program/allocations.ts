import { isGradientSum, optionalGradientsOf, optionalOperands } from './optional-gradients.ts';
import type { Step } from './plan.ts';
import type { ProgramOp, ValueId, ValueTable } from './program.ts';
import { bytesOf } from './value-bytes.ts';

/** Memory allocated by a step of a plan, and its live range. */
export interface Allocation {
  readonly step: number;
  /** The index of the step's output. */
  readonly output: number;
  readonly bytes: number;
  /** The step that frees the last value in it; undefined if it outlives the run. */
  readonly diesAt: number | undefined;
  /** Whether other owners may hold it, which makes its release data-dependent. */
  readonly shared: boolean;
}

interface Owned extends Allocation {
  owners: number;
  diesAt: number | undefined;
  shared: boolean;
}

/**
 * Returns the allocations of the steps, in order. Views share the memory of their base, and reusing outputs that
 * of the operand. If `sharesAll` returns true for an op, the values it reads or produces count as shared.
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
    // If one term of a gradient sum is missing, the sum is the other term, not a copy of it.
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
