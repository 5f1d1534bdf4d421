import { readIndices } from '../programs/choices.ts';
import type { Steps } from '../programs/steps.ts';
import type { PassContext, Staged } from './facts/pass.ts';
import { peaksOf } from './unless-larger.ts';

/** Costs are estimated at most so often, as each estimate takes a walk over the program. */
const mostEstimates = 12;

/**
 * Saves smaller values for backward: all candidates, or, where the program would need more bytes with them, as many
 * as bisection finds. `rewritten` returns the given program with some of the candidates applied.
 */
export function* whileNotLarger<Candidate>(
  given: Staged,
  context: PassContext,
  candidates: readonly Candidate[],
  rewritten: (chosen: readonly Candidate[]) => Staged,
): Steps<Staged> {
  const { choices } = context;
  const before = choices?.of('savedValues', (choice) => readIndices(choice, candidates.length));
  if (before) return before.length === 0 ? given : rewritten(before.map((i) => candidates[i]!));
  const known = peaksOf(given, context);
  yield;
  let estimates = mostEstimates;
  const queue: (readonly Candidate[])[] = [candidates];
  let chosen: readonly Candidate[] = [];
  let [best, bytes] = [given, known];
  while (queue.length > 0 && estimates-- > 0) {
    const more = queue.shift()!;
    const attempt = rewritten([...chosen, ...more]);
    const needed = peaksOf(attempt, context);
    if (isNotLarger(needed, known)) {
      [chosen, best, bytes] = [[...chosen, ...more], attempt, needed];
    } else if (more.length > 1) {
      const middle = more.length >> 1;
      queue.push(more.slice(0, middle), more.slice(middle));
    }
    yield;
  }
  // A program that runs as a whole keeps nothing beyond its end: only its peak counts. Slices may lower it further.
  const isAsked = context.stage === 'joint' || context.memory.prefer === 'bytes';
  const isWorthIt = isAsked || bytes.some((own, i) => own < known[i]!);
  const taken = isWorthIt ? chosen : [];
  choices?.note(
    'savedValues',
    taken.map((candidate) => candidates.indexOf(candidate)),
  );
  return isWorthIt ? best : given;
}

/**
 * Whether no more bytes are needed, either with ops one by one or with all pointwise ops fused: the planner decides
 * later which it is.
 */
function isNotLarger(needed: readonly number[], known: readonly number[]): boolean {
  const half = known.length / 2;
  const within = (from: number) =>
    needed.slice(from, from + half).every((bytes, i) => bytes <= known[from + i]!);
  return within(0) || within(half);
}
