import { operandUse } from '../../runtime/device/kernel-op.ts';
import { fillMissing, isGradientSum, isThere } from '../../runtime/program/optional-gradients.ts';
import type { JointProgram, ProgramOp, Region, ValueId } from '../../runtime/program/program.ts';

/** Whether a gradient exists at run time. */
export type Existence = 'always' | 'maybe' | 'never';

/** A backward op of a control op: its attrs, and its regions with their joint programs. */
export interface BackwardOp {
  /** Null for a call, whose programs depend on the shapes of a run. */
  readonly regions: readonly Region[] | null;
  /**
   * Indices in the op of the incoming gradients, of its results and partial sums, and of the operands whose gradients
   * are requested.
   */
  readonly of: readonly number[];
  readonly to: readonly number[];
  /** The number of loop-carried operands; 0 for `cond`. */
  readonly carried: number;
}

/** Returns which of the op's gradients exist, depending on the given ones. */
export function optionalGradientsIn(
  backwardOp: BackwardOp,
  incoming: readonly Existence[],
): Existence[] {
  if (!backwardOp.regions) return backwardOp.to.map(() => 'maybe');
  return backwardOp.carried > 0 ? ofWhile(backwardOp, incoming) : ofCond(backwardOp, incoming);
}

/** The gradients depend on the region that runs; the condition is operand 0. */
function ofCond({ regions, of, to }: BackwardOp, incoming: readonly Existence[]): Existence[] {
  const results = spread(of, incoming);
  const first = regions![0]!.program.outputs.length;
  const found = regions!.map(({ joint }) => (joint ? ofRegion(joint, results) : []));
  return to.map((operand) => {
    const parts = found.map((each) => each[operand - 1] ?? 'never').reduce(either);
    return both(parts, results(first + operand - 1));
  });
}

/** After any number of iterations. */
function ofWhile(
  { regions, of, to, carried }: BackwardOp,
  incoming: readonly Existence[],
): Existence[] {
  const { joint } = regions![1]!;
  const results = spread(of, incoming);
  const earlier = (operand: number) => results(carried + operand);
  // Per operand: the gradient of the next iteration if it is carried, otherwise the partial sum.
  let state: Existence[] = regions![1]!.program.inputs.map((_, i) =>
    i < carried ? results(i) : earlier(i),
  );
  for (;;) {
    const before = state;
    const entering = (i: number) => {
      if (i < carried) return before[i]!;
      return i < 2 * carried ? either('never', earlier(i - carried)) : before[i - carried]!;
    };
    const iteration = joint ? ofRegion(joint, entering) : [];
    state = before.map((existence, i) =>
      either(existence, both(iteration[i] ?? 'never', i < carried ? 'never' : existence)),
    );
    if (state.every((existence, i) => existence === before[i])) break;
  }
  return to.map((operand) => both(state[operand] ?? 'never', earlier(operand)));
}

function spread(of: readonly number[], incoming: readonly Existence[]) {
  const known = new Map(of.map((result, i) => [result, incoming[i]!]));
  return (result: number): Existence => known.get(result) ?? 'never';
}

/** Returns the existence of a sum. */
function both(a: Existence, b: Existence): Existence {
  if (a === 'always' || b === 'always') return 'always';
  return a === 'maybe' || b === 'maybe' ? 'maybe' : 'never';
}

/** Returns the existence after one branch or the other. */
function either(a: Existence, b: Existence): Existence {
  return a === b ? a : 'maybe';
}

/** For each operand and leaf of a region. */
function ofRegion(
  { program, forwardOps, gradOutputs, gradInputs }: JointProgram,
  incoming: (result: number) => Existence,
): Existence[] {
  const known = new Map<ValueId, Existence>();
  gradOutputs.forEach((id, i) => {
    if (id !== null) known.set(id, incoming(i));
  });
  for (const op of program.ops.slice(forwardOps)) {
    const results = ofResults(op, known);
    op.outputs.forEach((id, i) => {
      known.set(id, results[i]!);
    });
  }
  return gradInputs.map((id) => (id === null ? 'never' : (known.get(id) ?? 'always')));
}

function ofResults(
  programOp: ProgramOp,
  known: ReadonlyMap<ValueId, Existence>,
): readonly Existence[] {
  const { op, inputs, outputs, attrs, regions } = programOp;
  const existence = (id: ValueId) => known.get(id) ?? 'always';
  if (op.kernel.kind === 'control' && op.name.endsWith('Backward')) {
    const backwardOp = { ...(attrs as unknown as BackwardOp), regions: regions ?? null };
    return optionalGradientsIn(backwardOp, inputs.slice(1).map(existence));
  }
  const result = ofResult(programOp, existence);
  return outputs.map(() => result);
}

function ofResult({ op, inputs }: ProgramOp, existence: (id: ValueId) => Existence): Existence {
  if (op === isThere || (op === fillMissing && inputs.length === 1)) return 'always';
  if (isGradientSum(op) || op === fillMissing) {
    const parts = inputs.map(existence);
    if (parts.includes('always')) return 'always';
    return parts.includes('maybe') ? 'maybe' : 'never';
  }
  const operands = inputs.filter((_, i) => operandUse(op, i) === 'data').map(existence);
  if (operands.includes('never')) return 'never';
  if (operands.includes('maybe')) return 'maybe';
  // A list element may have no reader, and a contribution may belong to another name.
  const isChosen = ['listGradientAt', 'listTake', 'nameGradient', 'earlierSum'].includes(op.name);
  return isChosen ? 'maybe' : 'always';
}
