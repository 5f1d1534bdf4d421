import { operandUse } from '../../runtime/device/kernel-op.ts';
import type { Program, ValueId } from '../../runtime/program/program.ts';
import { readIndices } from '../programs/choices.ts';
import type { Steps } from '../programs/steps.ts';
import type { PassContext, Staged } from './facts/pass.ts';
import { allFused } from './fuse/fuse-pointwise.ts';
import { SameValues } from './same-value.ts';

/** The most cost estimates; fewer above `largeOps` ops, since each walks the program. */
const mostEstimates = 32;
const mostEstimatesOfLarge = 8;
const largeOps = 4000;

/**
 * Applies the replacements that `collect` returns, except those that would make forward, or the whole program, need
 * more bytes: a shared value may leave an op without an operand to overwrite. If a set needs more, bisection finds the
 * first replacement at fault and rejects it. A first plan applies all of them.
 */
export function* unlessLarger(
  original: Staged,
  context: PassContext,
  collect: (same: SameValues) => void,
): Steps<Staged> {
  if (context.isFirst) return replaced();
  const { choices } = context;
  const chosen = choices?.of('replacements', (choice) => ({
    count: choice.get('count').int(0, Number.MAX_SAFE_INTEGER),
    refused: readIndices(choice.get('refused'), original.program.values.length) as ValueId[],
  }));
  const refused = new Set<ValueId>(chosen?.refused);
  if (chosen) return attempt(chosen.count).staged;
  const known = peaksOf(original, context);
  yield;
  let left = original.program.ops.length > largeOps ? mostEstimatesOfLarge : mostEstimates;
  const choose = (count: number, staged: Staged): Staged => {
    choices?.note('replacements', { count, refused: [...refused] });
    return staged;
  };
  for (;;) {
    const all = attempt(Number.MAX_SAFE_INTEGER);
    const isLarger = isLargerWith(all.staged);
    yield;
    if (!isLarger || all.made.length === 0) return choose(all.made.length, all.staged);
    // The first `low` replacements don't make it larger; the first `high` do.
    let [low, high, best] = [0, all.made.length, original];
    while (high - low > 1 && left > 0) {
      const middle = (low + high) >> 1;
      const { staged } = attempt(middle);
      if (isLargerWith(staged)) high = middle;
      else [low, best] = [middle, staged];
      yield;
    }
    if (left <= 0) return choose(low, best);
    refused.add(all.made[high - 1]!);
  }

  function replaced(): Staged {
    let count = 0;
    const same = new SameValues(original, context, () => ++count > 0);
    collect(same);
    return count === 0 ? original : same.rewrite();
  }

  function attempt(count: number) {
    const added: ValueId[] = [];
    const same = new SameValues(original, context, (id) => {
      if (refused.has(id) || added.length >= count) return false;
      added.push(id);
      return true;
    });
    collect(same);
    return { made: added, staged: added.length === 0 ? original : same.rewrite() };
  }

  function isLargerWith(staged: Staged): boolean {
    left--;
    return peaksOf(staged, context).some((bytes, i) => bytes > known[i]!);
  }
}

/**
 * Returns the peaks of the whole program, and of forward alone if backward may never run: with ops run one by one, and
 * with pointwise ops fused as in a plan, where a value that two groups each compute internally takes no memory until it
 * is shared.
 */
function peaksOf(staged: Staged, context: PassContext): number[] {
  return [unfused, allFused].flatMap((form) => fusedPeaksOf(staged, context, form));
}

/** Fuses ops of a program; values in `staying` remain results of ops. */
export type Fusion = (program: Program, staying: ReadonlySet<ValueId>) => Program;

export const unfused: Fusion = (program) => program;

/** Peaks by measure and program: a pass often starts from what the previous one measured. */
const measured = new WeakMap<PassContext['costOf'], WeakMap<Staged, Map<Fusion, number[]>>>();

/** The peaks of the program, and of forward alone if backward may never run, with ops fused. */
export function fusedPeaksOf(staged: Staged, context: PassContext, fuse: Fusion): number[] {
  const { costOf } = context;
  const ofPrograms = measured.get(costOf) ?? new WeakMap<Staged, Map<Fusion, number[]>>();
  measured.set(costOf, ofPrograms);
  const known = ofPrograms.get(staged) ?? new Map<Fusion, number[]>();
  ofPrograms.set(staged, known);
  const peaks = known.get(fuse) ?? findPeaks(staged, context, fuse);
  known.set(fuse, peaks);
  return peaks;
}

function findPeaks(staged: Staged, { stage, costOf }: PassContext, fuse: Fusion): number[] {
  const { program, alsoRead } = staged;
  const outputs = [...new Set([...alsoRead, ...program.outputs])];
  const fused = (part: Program) => fuse(part, new Set(part.outputs));
  if (stage !== 'joint') return [costOf(fused({ ...program, outputs }))];
  const [early, late] = earlyAndLate(staged).map(fused) as [Program, Program];
  return [costOf(early), costOf({ ...program, ops: [...early.ops, ...late.ops], outputs })];
}

/** Forward with everything that is read of it, and backward. */
function earlyAndLate({ program, alsoRead, firstLate }: Staged): [Program, Program] {
  const [early, late] = [program.ops.slice(0, firstLate), program.ops.slice(firstLate)];
  const available = new Set([...program.inputs, ...early.flatMap((op) => op.outputs)]);
  const readLate = late.flatMap(({ op, inputs }) =>
    inputs.filter((_, i) => operandUse(op, i) === 'data'),
  );
  const left = [...alsoRead, ...program.outputs, ...readLate].filter((id) => available.has(id));
  return [
    { ...program, ops: early, outputs: [...new Set(left)] },
    { ...program, ops: late, outputs: [...new Set([...alsoRead, ...program.outputs])] },
  ];
}
