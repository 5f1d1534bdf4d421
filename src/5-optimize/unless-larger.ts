import { operandUse } from '../../runtime/ops/define-op.ts';
import type { Program, ValueId } from '../../runtime/program/program.ts';
import type { PassContext, Staged } from './pass.ts';
import { SameValues } from './same-value.ts';

/** Costs are estimated at most so often; of programs above `largeOps` ops less often, as each takes a walk. */
const mostEstimates = 32;
const mostEstimatesOfLarge = 8;
const largeOps = 4000;

/**
 * Makes the replacements that `collect` asks for, but for those with which the program would need more bytes: its
 * forward part alone, or all of it. Of a set that needs more, the first replacement at fault is found by bisection
 * and refused; a value that is shared takes from some op the operand that it would have overwritten.
 */
export function unlessLarger(
  given: Staged,
  context: PassContext,
  collect: (same: SameValues) => void,
): Staged {
  const known = peaksOf(given, context);
  let left = given.program.ops.length > largeOps ? mostEstimatesOfLarge : mostEstimates;
  const refused = new Set<ValueId>();
  for (;;) {
    const all = attempt(Number.POSITIVE_INFINITY);
    if (all.made.length === 0) return given;
    if (all.isNotLarger) return all.staged;
    // With the first `low` replacements it isn't larger, with the first `high` it is.
    let [low, high, best] = [0, all.made.length, given];
    while (high - low > 1 && left > 0) {
      const middle = (low + high) >> 1;
      const { isNotLarger, staged } = attempt(middle);
      if (isNotLarger) [low, best] = [middle, staged];
      else high = middle;
    }
    if (left <= 0) return best;
    refused.add(all.made[high - 1]!);
  }

  function attempt(count: number) {
    const made: ValueId[] = [];
    const same = new SameValues(given, context, (id) => {
      if (refused.has(id) || made.length >= count) return false;
      made.push(id);
      return true;
    });
    collect(same);
    const staged = made.length === 0 ? given : same.rewrite();
    left--;
    const isNotLarger = peaksOf(staged, context).every((bytes, i) => bytes <= known[i]!);
    return { made, staged, isNotLarger };
  }
}

/** Of the whole program, and of forward alone where a backward may never come. */
function peaksOf(staged: Staged, { stage, costOf }: PassContext): number[] {
  const { program, alsoRead, firstLate } = staged;
  const outputs = [...new Set([...alsoRead, ...program.outputs])];
  const whole = costOf({ ...program, outputs });
  if (stage !== 'joint') return [whole];
  return [whole, costOf(forwardOf(program, firstLate, alsoRead))];
}

function forwardOf(program: Program, firstLate: number, alsoRead: readonly ValueId[]): Program {
  const ops = program.ops.slice(0, firstLate);
  const made = new Set([...program.inputs, ...ops.flatMap((op) => op.outputs)]);
  const readLate = program.ops
    .slice(firstLate)
    .flatMap(({ op, inputs }) => inputs.filter((_, i) => operandUse(op, i) === 'data'));
  const outputs = [...alsoRead, ...program.outputs, ...readLate].filter((id) => made.has(id));
  return { ...program, ops, outputs: [...new Set(outputs)] };
}
