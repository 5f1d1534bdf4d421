import type { ValueId } from '../../../runtime/program/program.ts';
import type { PassContext, Staged } from '../facts/pass.ts';
import { ForwardFacts } from './forward-facts.ts';
import { forwardOfStep } from './forward-of-step.ts';
import { recomputeInBackward } from './recompute-in-backward.ts';

/**
 * In backward, recomputes the values that calls of `checkpoint` created, before the first op that reads them, from the
 * calls' arguments. Keeps the calls' results, and values that can't be recomputed (in-place writes, kernels that may
 * throw on their operands' values).
 */
export function recomputeCheckpoints(staged: Staged, { stage }: PassContext): Staged {
  const { program, firstLate, alsoRead } = staged;
  const { ops } = program;
  if (ops.every(({ checkpoint }) => checkpoint === undefined)) return staged;
  const isForward =
    stage === 'joint' ? (index: number) => index < firstLate : forwardOfStep(program);
  const facts = new ForwardFacts(program, isForward, [...alsoRead, ...program.outputs]);
  const stays = new Set<ValueId>();
  for (const index of facts.forward) {
    const { checkpoint, outputs } = ops[index]!;
    for (const id of outputs) {
      const isInside =
        checkpoint !== undefined &&
        facts.forwardReads(id).every((reader) => ops[reader]!.checkpoint === checkpoint);
      if (!isInside) stays.add(id);
    }
  }
  return { ...staged, program: recomputeInBackward(facts, stays).program };
}
