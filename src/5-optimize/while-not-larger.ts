import { readIndices } from '../programs/choices.ts';
import type { Steps } from '../programs/steps.ts';
import type { PassContext, Staged } from './facts/pass.ts';
import { allFused } from './fuse/fuse-pointwise.ts';
import { type Fusion, fusedPeaksOf, unfused } from './unless-larger.ts';

/** How candidates are compared. */
interface Measure {
  /** Turns a program into the form that the planner may give it; by default ops stay one by one, or pointwise ops fuse. */
  readonly forms?: readonly Fusion[];
  /** Whether the program takes no longer than the given one; asked once a smaller one is found. */
  readonly isFastEnough?: (staged: Staged) => boolean;
}

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
  { forms = [unfused, allFused], isFastEnough = () => true }: Measure = {},
): Steps<Staged> {
  const { choices } = context;
  const needs = (staged: Staged) => forms.map((form) => fusedPeaksOf(staged, context, form));
  const before = choices?.of('savedValues', (choice) => readIndices(choice, candidates.length));
  if (before) return before.length === 0 ? given : rewritten(before.map((i) => candidates[i]!));
  const known = needs(given);
  yield;
  let estimates = mostEstimates;
  const queue: (readonly Candidate[])[] = [candidates];
  let chosen: readonly Candidate[] = [];
  let [best, bytes] = [given, known];
  while (queue.length > 0 && estimates-- > 0) {
    const more = queue.shift()!;
    const attempt = rewritten([...chosen, ...more]);
    const needed = needs(attempt);
    if (isNotLarger(needed, known) && isFastEnough(attempt)) {
      [chosen, best, bytes] = [[...chosen, ...more], attempt, needed];
    } else if (more.length > 1) {
      const middle = more.length >> 1;
      queue.push(more.slice(0, middle), more.slice(middle));
    }
    yield;
  }
  // A program that runs as a whole keeps nothing beyond its end: only its peak counts. Slices may lower it further.
  const isAsked = context.stage === 'joint' || context.memory.prefer === 'bytes';
  const isWorthIt = isAsked || bytes.some((form, i) => form.some((own, j) => own < known[i]![j]!));
  const taken = isWorthIt ? chosen : [];
  choices?.note(
    'savedValues',
    taken.map((candidate) => candidates.indexOf(candidate)),
  );
  return isWorthIt ? best : given;
}

type Peaks = readonly (readonly number[])[];

/** Whether no more bytes are needed in one of the forms: the planner decides later which it is. */
function isNotLarger(needed: Peaks, known: Peaks): boolean {
  return needed.some((form, i) => form.every((bytes, j) => bytes <= known[i]![j]!));
}
