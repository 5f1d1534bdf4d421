import type { Program, ValueId } from '../../runtime/program/program.ts';
import type { Field } from '../../runtime/save/field.ts';
import { cheapestKept, leastWorkAgain } from '../5-optimize/recompute/cheapest-kept.ts';
import {
  better,
  type Candidate,
  Choice,
  type Cost,
  Eviction,
} from '../5-optimize/recompute/choice.ts';
import { EvictionSearch } from '../5-optimize/recompute/eviction-search.ts';
import type { ForwardFacts } from '../5-optimize/recompute/forward-facts.ts';
import type { MemoryUses } from '../5-optimize/recompute/memory-uses.ts';
import { type EvictionPolicy, readPolicy } from '../5-optimize/recompute/pressure.ts';
import { recomputeEvicted } from '../5-optimize/recompute/recompute-evicted.ts';
import {
  type Recomputed,
  recomputeInBackward,
} from '../5-optimize/recompute/recompute-in-backward.ts';
import { RecomputeSearch } from '../5-optimize/recompute/recompute-search.ts';
import { readIndices } from '../programs/choices.ts';
import type { SubgraphStages } from '../programs/stages.ts';
import { finish, type Steps } from '../programs/steps.ts';
import type { Compilation } from './compilation.ts';

interface Planning {
  /** Roughly what a program needs: cheap enough to compare many. */
  readonly costOf: Cost;
  /** The uses of memory, in an order with a low peak. */
  readonly usesOf: () => MemoryUses;
  readonly plan: (program: Program) => SubgraphStages;
  /** Bytes of inputs that the program may free. */
  readonly donatedBytes: number;
}

/** The parts of a compilation that are compiled and that note its choices. */
type Noted = Pick<Compilation, 'choices' | 'candidate' | 'options'>;

/** A plan that recomputes more than this share of forward's arithmetic is expensive. */
const expensiveShare = 0.05;

/** Where less of forward's arithmetic than this runs again, nothing else is tried. */
export const cheapShare = 0.01;

/** With this many times the arithmetic of the other search, one isn't asked again for a budget nearby. */
const behind = 1.5;

/** Rates of exchange between bytes and arithmetic that bound what must be recomputed. */
const boundRates = Array.from({ length: 16 }, (_, i) => 2 ** (i - 14));

/** For programs of up to so many ops, what the search finds for smaller budgets counts as well: it may miss that for this one. */
const fewOps = 500;
const smaller = [0.96, 0.92, 0.87];

/** A plan this near to the budget, or with so little arithmetic, is good enough. */
const tight = 0.02;

/** The cheap measure and the plan may differ, by other bytes for each choice: then the search is told how many. */
const attempts = 4;

/**
 * In: a program with its backward. Out: its plan; where that needs more than the budget, one in which
 * backward computes some of forward again, with as little arithmetic as was found to be enough. Where nothing
 * is enough: the plan that needs least. Null: it can't be as cheap as another candidate.
 */
export function withinBudget(
  facts: ForwardFacts,
  budget: number,
  planning: Planning,
  compilation: Noted,
): SubgraphStages | null {
  const { choices } = compilation;
  const { plan, usesOf } = planning;
  const known = choices.of('recompute', (choice) => {
    const { bytesBefore, how } = readChosen(choice, facts.program);
    const recomputed = how && recomputedBy(how);
    return { bytesBefore, recomputed: recomputed ?? (how && choice.fail('an eviction policy')) };
  });
  if (known) return planned(known.bytesBefore, known.recomputed);
  const { below } = compilation.options;
  if (below !== undefined && leastShare(facts, budget + planning.donatedBytes) >= below)
    return null;
  const { best, chosen, take } = searched(facts, budget, planning, compilation);
  choices.note('recompute', chosen);
  take();
  return best;

  function recomputedBy(how: Kept | EvictionPolicy): Recomputed | null {
    if (!('stays' in how)) return recomputeEvicted(usesOf(), how);
    return recomputeInBackward(facts, new Set(how.stays), new Set(how.brief));
  }

  function planned(bytesBefore: number, recomputed: Recomputed | null): SubgraphStages {
    if (recomputed === null) return withoutRecompute(plan(facts.program), budget);
    const { program, ops, work } = recomputed;
    const stages = plan(program);
    const bytes = peakBytes(stages);
    const share = work / Math.max(1, facts.forwardWork);
    return { ...stages, recompute: { budget, bytesBefore, bytes, ops, share } };
  }
}

/** No plan within these bytes recomputes a smaller share of forward's arithmetic. */
function leastShare(facts: ForwardFacts, bytes: number): number {
  return leastWorkAgain(facts, bytes, boundRates) / Math.max(1, facts.forwardWork);
}

interface Chosen {
  /** Bytes of the program with nothing computed twice. */
  readonly bytesBefore: number;
  /** Null: nothing is. */
  readonly how: Kept | EvictionPolicy | null;
}

interface Kept {
  readonly stays: readonly ValueId[];
  readonly brief: readonly ValueId[];
}

function readChosen(choice: Field, { values }: Program): Chosen {
  const bytesBefore = choice.get('bytesBefore').int(0, Number.MAX_SAFE_INTEGER);
  const how = choice.get('how');
  if (how.isNull) return { bytesBefore, how: null };
  if (!how.has('stays')) return { bytesBefore, how: readPolicy(how) };
  const ids = (field: Field) => readIndices(field, values.length) as ValueId[];
  return { bytesBefore, how: { stays: ids(how.get('stays')), brief: ids(how.get('brief')) } };
}

function withoutRecompute(stages: SubgraphStages, budget: number) {
  const bytes = peakBytes(stages);
  return { ...stages, recompute: { budget, bytesBefore: bytes, bytes, ops: 0, share: 0 } };
}

interface Searched {
  readonly best: SubgraphStages;
  readonly chosen: Chosen;
  readonly take: () => void;
}

function searched(
  facts: ForwardFacts,
  budget: number,
  { costOf, usesOf, plan: planOf }: Planning,
  compilation: Noted,
): Searched {
  function* steps(program: Program): Steps<SubgraphStages> {
    yield;
    return planOf(program);
  }
  const plan = (program: Program) => finish(compilation.candidate(() => steps(program)));
  const plain = plan(facts.program);
  const bytesBefore = peakBytes(plain.made);
  let best = withoutRecompute(plain.made, budget);
  let { take } = plain;
  let taken: Candidate | null = null;
  const done = (): Searched => ({ best, chosen: { bytesBefore, how: howOf(taken) }, take });
  if (bytesBefore <= budget) return done();
  const all = facts.forwardWork;
  const search = new RecomputeSearch(facts, costOf);
  let evictions: EvictionSearch | undefined;
  let isBehind = false;
  const within = (target: number): Candidate => {
    const evicted = isBehind ? evictions!.within(target) : null;
    if (evicted) return evicted;
    const kept = search.within(target);
    if (kept.ops === 0 || (kept.fits(target) && kept.work <= cheapShare * all)) return kept;
    evictions ??= new EvictionSearch(usesOf(), costOf);
    const other = evictions.within(target);
    isBehind = other !== null && kept.work > behind * other.work;
    return other ? better<Candidate>(kept, other, target) : kept;
  };
  let target = budget - bytesBefore + costOf(facts.program);
  const planned = new Set<Program>();
  for (let attempt = 0; attempt < attempts; attempt++) {
    const isFirst = attempt === 0 && facts.program.ops.length <= fewOps;
    const below = isFirst ? smaller.map((share) => within(share * target)) : [];
    const choice = below.reduce((a, b) => better(a, b, target), within(target));
    if (choice.ops === 0 || planned.has(choice.program)) return done();
    planned.add(choice.program);
    const candidate = plan(choice.program);
    const stages = candidate.made;
    const bytes = peakBytes(stages);
    const share = choice.work / Math.max(1, all);
    const recompute = { budget, bytesBefore, bytes, ops: choice.ops, share };
    const cheapest = cheaper(best, { ...stages, recompute });
    if (cheapest !== best) {
      best = cheapest as typeof best;
      taken = choice;
      take = candidate.take;
    }
    const room = budget - bytes;
    if (room >= 0 && (room < tight * budget || share < tight)) return done();
    if (room < 0 && choice.bytesFor(target) > target) return done();
    const corrected = budget + choice.bytes - bytes;
    if (room >= 0 && corrected <= target) return done();
    target = corrected;
  }
  return done();
}

function howOf(candidate: Candidate | null): Chosen['how'] {
  if (candidate instanceof Choice) {
    return { stays: [...candidate.stays], brief: [...candidate.brief] };
  }
  return candidate instanceof Eviction ? candidate.policy : null;
}

/** The plan of a subgraph that shares a budget with others: backward computes again what costs less than it is worth. */
export function atRate(
  facts: ForwardFacts,
  budget: number,
  rate: number,
  plan: Planning['plan'],
): SubgraphStages {
  const { program, ops, work } = recomputeInBackward(facts, cheapestKept(facts, rate, new Set()));
  const stages = plan(program);
  const bytes = peakBytes(stages);
  const share = work / Math.max(1, facts.forwardWork);
  return {
    ...stages,
    recompute: { budget, bytesBefore: bytes, bytes, ops, share, isShared: true },
  };
}

/** The budget isn't held, or takes more than a little arithmetic. */
export function isExpensive({ recompute }: SubgraphStages, share = expensiveShare): boolean {
  return recompute !== null && (recompute.bytes > recompute.budget || recompute.share > share);
}

/**
 * Chooses between two plans of one step: the one within the budget with less arithmetic, else the one that needs
 * fewer bytes.
 */
export function cheaper(plain: SubgraphStages, other: SubgraphStages): SubgraphStages {
  const [before, after] = [plain.recompute!, other.recompute!];
  const fits = ({ bytes, budget }: typeof before) => bytes <= budget;
  const isCheaper = fits(before)
    ? fits(after) && after.share < before.share
    : fits(after) || after.bytes < before.bytes;
  if (!isCheaper) return plain;
  return { ...other, recompute: { ...after, bytesBefore: before.bytesBefore } };
}

/** The peak of forward and backward together, above what was allocated before. */
export function peakBytes({ planned: { forward, backward } }: SubgraphStages): number {
  const { peakBytes, savedBytes, outputBytes } = forward.predicted;
  if (!backward) return peakBytes;
  return Math.max(peakBytes, savedBytes + outputBytes + backward.plan.predicted.peakBytes);
}
