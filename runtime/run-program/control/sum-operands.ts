import type { Step } from '../../program/plan.ts';

/**
 * Returns the number of results, excluding the tape, of a backward op's branch or loop. Indices in attr `of` below it
 * denote gradients of results, the others the earlier gradient sums of the regions' operands.
 */
export function resultCount({ regions }: Pick<Step, 'regions'>): number {
  return regions!.at(-1)!.forward.outputs.length;
}

/** Returns the index in `of` for the gradient so far of a forward operand. */
export function sumOperand(step: Pick<Step, 'op' | 'regions'>, operand: number): number {
  // Operand 0 of a branch is the condition, which its regions don't receive.
  const first = step.op.attrs.carried ? 0 : 1;
  return resultCount(step) + operand - first;
}
