import { operandUse } from '../../runtime/ops/core/define-op.ts';
import { fillMissing, isGradientSum, isThere } from '../../runtime/program/missing-gradients.ts';
import type { JointProgram, ProgramOp, Region, ValueId } from '../../runtime/program/program.ts';

/** Whether a gradient is there when the program runs. */
export type Presence = 'always' | 'maybe' | 'never';

/** A backward op of a control op: its attrs, and its regions with their joint programs. */
export interface Undoing {
  /** Null: a call, whose programs come with the shapes of a run. */
  readonly regions: readonly Region[] | null;
  /**
   * Numbers of what is given, as in the op that undoes: gradients of results, and sums that go on; and of the
   * operands whose gradients are asked for.
   */
  readonly of: readonly number[];
  readonly to: readonly number[];
  /** How many operands are carried; 0 for `cond`. */
  readonly carried: number;
}

/** Of the gradients that the op answers, by those that it is given. */
export function presenceOf(undoing: Undoing, given: readonly Presence[]): Presence[] {
  if (!undoing.regions) return undoing.to.map(() => 'maybe');
  return undoing.carried > 0 ? ofWhile(undoing, given) : ofCond(undoing, given);
}

/** As the region that runs says; the condition is operand 0. */
function ofCond({ regions, of, to }: Undoing, given: readonly Presence[]): Presence[] {
  const results = spread(of, given);
  const first = regions![0]!.program.outputs.length;
  const found = regions!.map(({ joint }) => (joint ? ofRegion(joint, results) : []));
  return to.map((operand) => {
    const parts = found.map((each) => each[operand - 1] ?? 'never').reduce(either);
    return both(parts, results(first + operand - 1));
  });
}

/** After any number of iterations. */
function ofWhile({ regions, of, to, carried }: Undoing, given: readonly Presence[]): Presence[] {
  const { joint } = regions![1]!;
  const results = spread(of, given);
  const earlier = (operand: number) => results(carried + operand);
  // Per operand: of those that are carried the gradient of the next iteration, of others the sum so far.
  let state: Presence[] = regions![1]!.program.inputs.map((_, i) =>
    i < carried ? results(i) : earlier(i),
  );
  for (;;) {
    const before = state;
    const entering = (i: number) => {
      if (i < carried) return before[i]!;
      return i < 2 * carried ? either('never', earlier(i - carried)) : before[i - carried]!;
    };
    const iteration = joint ? ofRegion(joint, entering) : [];
    state = before.map((presence, i) =>
      either(presence, both(iteration[i] ?? 'never', i < carried ? 'never' : presence)),
    );
    if (state.every((presence, i) => presence === before[i])) break;
  }
  return to.map((operand) => both(state[operand] ?? 'never', earlier(operand)));
}

function spread(of: readonly number[], given: readonly Presence[]) {
  const known = new Map(of.map((result, i) => [result, given[i]!]));
  return (result: number): Presence => known.get(result) ?? 'never';
}

/** Of a sum of both. */
function both(a: Presence, b: Presence): Presence {
  if (a === 'always' || b === 'always') return 'always';
  return a === 'maybe' || b === 'maybe' ? 'maybe' : 'never';
}

/** On the one way or the other. */
function either(a: Presence, b: Presence): Presence {
  return a === b ? a : 'maybe';
}

/** Per operand, and leaf, of a region. */
function ofRegion(
  { program, forwardOps, gradOutputs, gradInputs }: JointProgram,
  given: (result: number) => Presence,
): Presence[] {
  const known = new Map<ValueId, Presence>();
  gradOutputs.forEach((id, i) => {
    if (id !== null) known.set(id, given(i));
  });
  for (const op of program.ops.slice(forwardOps)) {
    const results = ofResults(op, known);
    op.outputs.forEach((id, i) => {
      known.set(id, results[i]!);
    });
  }
  return gradInputs.map((id) => (id === null ? 'never' : (known.get(id) ?? 'always')));
}

function ofResults(given: ProgramOp, known: ReadonlyMap<ValueId, Presence>): readonly Presence[] {
  const { op, inputs, outputs, attrs, regions } = given;
  const presence = (id: ValueId) => known.get(id) ?? 'always';
  if (op.kernel.kind === 'control' && op.name.endsWith('Backward')) {
    const undoing = { ...(attrs as unknown as Undoing), regions: regions ?? null };
    return presenceOf(undoing, inputs.slice(1).map(presence));
  }
  const result = ofResult(given, presence);
  return outputs.map(() => result);
}

function ofResult({ op, inputs }: ProgramOp, presence: (id: ValueId) => Presence): Presence {
  if (op === isThere || (op === fillMissing && inputs.length === 1)) return 'always';
  if (isGradientSum(op) || op === fillMissing) {
    const parts = inputs.map(presence);
    if (parts.includes('always')) return 'always';
    return parts.includes('maybe') ? 'maybe' : 'never';
  }
  const operands = inputs.filter((_, i) => operandUse(op, i) === 'data').map(presence);
  if (operands.includes('never')) return 'never';
  if (operands.includes('maybe')) return 'maybe';
  // An element of a list may be one that nobody has read.
  return op.name === 'listGradientAt' || op.name === 'listTake' ? 'maybe' : 'always';
}
