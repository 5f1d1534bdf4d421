import { readIndices } from '../programs/choices.ts';
import type { Steps } from '../programs/steps.ts';
import type { PassContext, Staged } from './facts/pass.ts';
import { allFused } from './fuse/fuse-pointwise.ts';
import { type Fusion, fusedPeaksOf, unfused } from './unless-larger.ts';

/** How candidates are compared. */
interface Measure {
  /** The forms that the planner may give a program; by default, ops run one by one or with pointwise ops fused. */
  readonly forms?: readonly Fusion[];
  /** Whether the program is no slower than the given one; called once a smaller one is found. */
  readonly isFastEnough?: (staged: Staged) => boolean;
}

/** The most cost estimates: each walks the program. */
const mostEstimates = 12;

/**
 * Saves smaller values for backward: all candidates, or if the program would then need more bytes, as many as
 * bisection finds. `rewritten` returns the given program with some of the candidates applied.
 */
export function* whileNotLarger<Candidate>(
  original: Staged,
  context: PassContext,
  candidates: readonly Candidate[],
  rewritten: (chosen: readonly Candidate[]) => Staged,
  { forms = [unfused, allFused], isFastEnough = () => true }: Measure = {},
): Steps<Staged> {
  const { choices } = context;
  const needs = (staged: Staged) => forms.map((form) => fusedPeaksOf(staged, context, form));
  const before = choices?.of('savedValues', (choice) => readIndices(choice, candidates.length));
  if (before) return before.length === 0 ? original : rewritten(before.map((i) => candidates[i]!));
  const known = needs(original);
  yield;
  let estimates = mostEstimates;
  const queue: (readonly Candidate[])[] = [candidates];
  let chosen: readonly Candidate[] = [];
  let [best, bytes] = [original, known];
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
  // A program that runs as a whole keeps nothing after its end: only its peak counts, and slices may lower that
  // further.
  const isAsked = context.stage === 'joint' || context.memory.prefer === 'bytes';
  const isWorthIt =
    isAsked || bytes.some((form, i) => form.some((each, j) => each < known[i]![j]!));
  const taken = isWorthIt ? chosen : [];
  choices?.note(
    'savedValues',
    taken.map((candidate) => candidates.indexOf(candidate)),
  );
  return isWorthIt ? best : original;
}

type Peaks = readonly (readonly number[])[];

/** Whether the program needs no more bytes in one of its forms: the planner chooses the form later. */
function isNotLarger(needed: Peaks, known: Peaks): boolean {
  return needed.some((form, i) => form.every((bytes, j) => bytes <= known[i]![j]!));
}
