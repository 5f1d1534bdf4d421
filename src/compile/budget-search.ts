import { oncePerProgram, type Program } from '../../runtime/program/program.ts';
import { fusedValues } from '../5-optimize/fuse/fused-form.ts';
import { Candidates } from '../5-optimize/recompute/candidates.ts';
import type { Candidate, Cost, RecomputeSelection } from '../5-optimize/recompute/choice.ts';
import type { ForwardFacts } from '../5-optimize/recompute/forward-facts.ts';
import { type MemoryUses, never } from '../5-optimize/recompute/memory-uses.ts';
import type { Recomputed } from '../5-optimize/recompute/recompute-in-backward.ts';
import type { WorkBound } from '../5-optimize/recompute/work-bound.ts';
import { LateBytes } from '../programs/choices.ts';
import { once } from '../programs/once.ts';
import { hasSameOps } from '../programs/same-ops.ts';
import type { SubgraphStages } from '../programs/stages.ts';
import { finish, type Steps } from '../programs/steps.ts';
import type { Compilation } from './compilation.ts';

export interface Planning {
  /** Estimates what a program needs, cheaply enough to compare many. */
  readonly costOf: Cost;
  /** The uses of memory, in an order with a low peak; `isFused`: by the program in its fused form. */
  readonly usesOf: (isFused: boolean) => MemoryUses;
  readonly plan: (program: Program) => SubgraphStages;
  /** Bytes of inputs that the program may free. */
  readonly donatedBytes: number;
}

/** The parts of a compilation that a search uses. */
export type CandidateCompiler = Pick<Compilation, 'choices' | 'candidate' | 'options'>;

/**
 * By program size: the share of the budget by which plans may need less than the cheap measure, since ops are fused;
 * `inFused`, if the fused form is measured because it needs less. Plans of larger programs take seconds to make, and
 * need what is measured.
 */
const slacks = [
  { ops: 1500, slack: 0.08, inFused: null },
  { ops: 4000, slack: 0.2, inFused: 0.08 },
  { ops: never, slack: 0, inFused: null },
] as const;

interface Measure {
  readonly costOf: Cost;
  readonly slack: number;
  /** Whether values inside fused ops count no bytes. */
  readonly isFused: boolean;
}

/**
 * Some programs need more in fused form, as fused ops read operands later. Plans don't fuse those ops, so the program
 * itself is measured.
 */
export function measureOf(program: Program, plain: Cost): Measure {
  const { slack, inFused } = slacks.find(({ ops: most }) => program.ops.length <= most)!;
  const fused: Cost = (candidate) => plain(fusedValues(candidate, new Set(candidate.outputs)));
  return inFused !== null && fused(program) < plain(program)
    ? { costOf: oncePerProgram(fused), slack: inFused, isFused: true }
    : { costOf: oncePerProgram(plain), slack, isFused: false };
}

/**
 * How many candidates to plan when none fits the budget, looking for one as small that recomputes less. Where the
 * estimate ranks only roughly, more are tried: most candidates that look small have larger plans.
 */
const mostRefined = (slack: number): number => (isRough(slack) ? 32 : 8);

/** Whether plans may need much less than is measured, in which case measured bytes rank them only roughly. */
const isRough = (slack: number): boolean => slack > 0.1;

/** The number of further candidates to plan, those with the fewest measured bytes, if the estimate is rough. */
const mostLowered = 8;

/**
 * Returns the share of forward's arithmetic that an incumbent within the budget recomputes: this plan has to recompute
 * less.
 */
export function shareToBeat({ options: { incumbent } }: CandidateCompiler): number | undefined {
  return incumbent?.kind === 'fitting' ? incumbent.share : undefined;
}

export interface Chosen {
  /** Bytes of the program if it recomputes nothing. */
  readonly bytesBefore: LateBytes;
  /** Null if nothing is recomputed. */
  readonly how: RecomputeSelection | null;
}

export function withoutRecompute(stages: SubgraphStages, budget: number) {
  const bytes = peakBytes(stages);
  const recompute = { budget, bytesBefore: () => bytes, bytes, ops: 0, share: 0 };
  return { ...stages, recompute };
}

interface FoundPlan {
  readonly best: SubgraphStages;
  readonly chosen: Chosen;
  readonly take: () => void;
}

/**
 * Returns the first candidate, by increasing arithmetic, whose plan fits. All candidates of a budget are candidates of
 * a larger one, in the same order: more bytes never cost more arithmetic. Null if no plan that fits beats the
 * incumbent.
 */
export function searchWithin(
  budget: number,
  facts: ForwardFacts,
  bound: WorkBound,
  planning: Planning,
  compilation: CandidateCompiler,
): FoundPlan | null {
  const { program } = facts;
  const { costOf, slack, isFused } = measureOf(program, planning.costOf);
  const { incumbent } = compilation.options;
  const below = shareToBeat(compilation);
  const work = Math.max(1, facts.forwardWork);
  const mostWork = (below ?? never) * work;
  const beside = costOf({ ...program, ops: [] });
  const whole = once(() => plan(program));
  const bytesBefore = once(() => peakBytes(whole().made));
  const isPlanned = new Set<Candidate>();
  const tried: Recomputed[] = [];
  /** The smallest plan found that exceeds the budget. */
  let least = null as FoundPlan | null;
  // Planning without recomputing takes seconds for large programs: with an incumbent or no slack, it is done only if
  // that may fit.
  const isFirst = below === undefined && slack > 0;
  if (isFirst || costOf(program) <= measuredBytes(budget)) {
    const unchanged = withoutRecomputation();
    if (unchanged.best.recompute!.bytes <= budget) return unchanged;
  }
  const candidates = new Candidates(facts, planning.usesOf(isFused), costOf, bound, mostWork);
  const fitting = firstFitting(candidates.within(measuredBytes(budget), mostWork));
  if (fitting || below !== undefined) return fitting;
  const floor = firstFitting(candidates.floor());
  if (floor) return floor;
  refineFloor();
  // No plan with so few bytes recomputes nothing, so the plan without recomputing is not needed.
  if (least && leastWork(least.best.recompute!.bytes) > 0) return least;
  const unchanged = withoutRecomputation();
  return least && cheaper(unchanged.best, least.best) !== unchanged.best ? least : unchanged;

  /** Returns the measured bytes up to which a program's plan may need only these bytes beyond inputs and outputs. */
  function measuredBytes(bytes: number): number {
    return bytes * (1 + slack) + beside;
  }

  /** Returns a lower bound of the arithmetic that any plan within these bytes repeats; above 0 if one is found. */
  function leastWork(bytes: number): number {
    return bound.least(bytes + planning.donatedBytes, Number.MIN_VALUE);
  }

  function plan(program: Program) {
    function* steps(): Steps<SubgraphStages> {
      yield;
      return planning.plan(program);
    }
    return finish(compilation.candidate(steps));
  }

  function chosen(how: RecomputeSelection | null): Chosen {
    return { bytesBefore: new LateBytes(bytesBefore), how };
  }

  function withoutRecomputation(): FoundPlan {
    const { made, take } = whole();
    return { best: withoutRecompute(made, budget), chosen: chosen(null), take };
  }

  function firstFitting(candidates: Iterable<Candidate>): FoundPlan | null {
    for (const candidate of candidates) {
      const found = planFor(candidate);
      if (found) return found;
    }
    return null;
  }

  /**
   * Looks for a smaller plan, and for one as small with less arithmetic, unless the smallest loses to the incumbent.
   */
  function refineFloor(): void {
    if (!least) return;
    const found = least.best.recompute!;
    if (incumbent?.kind === 'exceeding' && found.bytes > incumbent.bytes) return;
    if (isRough(slack)) lowerFloor(found.bytes);
    const floor = least.best.recompute!;
    let refined = 0;
    for (const each of candidates.within(measuredBytes(floor.bytes), floor.share * work)) {
      planFor(each);
      const { recompute } = least!.best;
      if (recompute!.bytes <= floor.bytes && recompute !== floor) return;
      if (++refined === mostRefined(slack)) return;
    }
  }

  /** Plans the candidates with the fewest measured bytes among those whose plans may be as small. */
  function lowerFloor(bytes: number): void {
    const all = [...candidates.within(measuredBytes(bytes), never)];
    const lowest = all.sort((a, b) => a.bytes - b.bytes).filter((each) => !isPlanned.has(each));
    for (const each of lowest.slice(0, mostLowered)) planFor(each);
  }

  /** Returns the plan of a candidate, if it fits. Candidates that write the same program are planned once. */
  function planFor(candidate: Candidate): FoundPlan | null {
    isPlanned.add(candidate);
    const recomputed = candidate.make();
    if (tried.some((each) => isSame(each, recomputed))) return null;
    tried.push(recomputed);
    const { program: rewritten, ops, work: repeated } = recomputed;
    const { made, take } = plan(rewritten);
    const bytes = peakBytes(made);
    const isFitting = bytes <= budget;
    if (!isFitting && below !== undefined) return null;
    const recompute = { budget, bytesBefore, bytes, ops, share: repeated / work };
    const best = { ...made, recompute };
    const found = { best, chosen: chosen(candidate.how), take };
    if (!isFitting && (!least || cheaper(least.best, best) !== least.best)) least = found;
    return isFitting ? found : null;
  }
}

function isSame(a: Recomputed, b: Recomputed): boolean {
  return a.ops === b.ops && a.work === b.work && hasSameOps(a.program, b.program);
}

/**
 * Chooses between two plans of one step: prefers the one within the budget with less arithmetic, otherwise the one that
 * needs fewer bytes.
 */
export function cheaper(plain: SubgraphStages, other: SubgraphStages): SubgraphStages {
  if (!isCheaper(other, plain)) return plain;
  const { bytesBefore } = plain.recompute!;
  return { ...other, recompute: { ...other.recompute!, bytesBefore } };
}

/** Whether a plan within a budget is cheaper than another one. */
export function isCheaper(stages: SubgraphStages, than: SubgraphStages): boolean {
  const [before, after] = [than.recompute!, stages.recompute!];
  const fits = ({ bytes, budget }: typeof before) => bytes <= budget;
  if (fits(before)) return fits(after) && after.share < before.share;
  return fits(after) || isLess([after.bytes, after.share], [before.bytes, before.share]);
}

function isLess([a, b]: readonly [number, number], [c, d]: readonly [number, number]): boolean {
  return a < c || (a === c && b < d);
}

/** Returns the peak of forward and backward together, excluding earlier allocations. */
export function peakBytes({ planned: { forward, backward } }: SubgraphStages): number {
  const { peakBytes, savedBytes, outputBytes } = forward.predicted;
  if (!backward) return peakBytes;
  return Math.max(peakBytes, savedBytes + outputBytes + backward.plan.predicted.peakBytes);
}
