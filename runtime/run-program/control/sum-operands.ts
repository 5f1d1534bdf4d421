import type { Step } from '../../program/plan.ts';

/**
 * The number of results, without the tape, of the branch or loop that a backward op belongs to. Numbers of attr `of`
 * below it represent gradients of results; those from it on, gradients that operands of the regions have so far.
 */
export function resultCount({ regions }: Pick<Step, 'regions'>): number {
  return regions!.at(-1)!.forward.outputs.length;
}

/** The number in `of` for what has come to an operand of the forward op. */
export function sumOperand(step: Pick<Step, 'op' | 'regions'>, operand: number): number {
  // The condition of a branch is not an operand of its regions.
  const first = step.op.attrs.carried ? 0 : 1;
  return resultCount(step) + operand - first;
}
