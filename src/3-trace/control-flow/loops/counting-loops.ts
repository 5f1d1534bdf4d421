/** Loops that count: the numbers that they leave follow from the numbers before them. */

import type { Program, ProgramOp, ValueId } from '../../../../runtime/program/program.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import type { NumberExpr } from '../../../guards/number-expr.ts';
import { appliedTo, constant } from '../../inputs/applied-number.ts';
import type { Tracer } from '../../state/tracer.ts';

/** The operands of a single-exit loop, its programs and its results. */
interface CountingLoop {
  /** The carried values before the loop, followed by the values that its programs capture. */
  readonly operands: readonly Tensor[];
  readonly test: Program;
  readonly body: Program;
  /** The carried values after the loop. */
  readonly results: readonly Tensor[];
}

/**
 * Notes the values of numbers to which each iteration adds a constant, if the loop ends where one of them reaches a
 * number that is known before it.
 */
export function noteCounted(t: Tracer, { operands, test, body, results }: CountingLoop): void {
  const { determined } = t.control;
  const steps = results.map((_, i) => stepOf(body, i));
  const iterations = iterationsOf(test, steps, (operand) => determined.of(operands[operand]!));
  if (!iterations) return;
  for (const [i, result] of results.entries()) {
    const start = determined.of(operands[i]!);
    const step = steps[i];
    if (!start || step === undefined) continue;
    determined.note(result, appliedTo('+', start, appliedTo('*', constant(step), iterations)));
  }
}

/** Returns what an iteration adds to the carried number; undefined if that isn't a constant. */
function stepOf({ ops, inputs, outputs }: Program, index: number): number | undefined {
  let step = 0;
  let value = outputs[index]!;
  while (value !== inputs[index]) {
    const made = ops.find(({ outputs: [first] }) => first === value);
    if (made?.op.name !== 'addScalar' && made?.op.name !== 'subScalar') return undefined;
    const added = made.attrs.value;
    if (typeof added !== 'number') return undefined;
    step += made.op.name === 'addScalar' ? added : -added;
    value = made.inputs[0]!;
  }
  return step;
}

/** Comparisons by op, as seen from their first operand. */
const comparisons: ReadonlyMap<string, '<' | '<=' | '>' | '>='> = new Map([
  ['lt', '<'],
  ['le', '<='],
  ['gt', '>'],
  ['ge', '>='],
]);

/** Returns how often the loop runs, if its condition compares a number that it counts by ones with a known one. */
function iterationsOf(
  { ops, inputs, outputs }: Program,
  steps: readonly (number | undefined)[],
  known: (operand: number) => NumberExpr | undefined,
): NumberExpr | undefined {
  const [decides, ...others] = ops;
  if (!decides || others.length > 0 || decides.outputs[0] !== outputs[0]) return undefined;
  const isScalar = decides.op.name.endsWith('Scalar');
  const compared = comparisons.get(decides.op.name.replace('Scalar', ''));
  if (!compared) return undefined;
  const [first, second] = decides.inputs.map((id: ValueId) => inputs.indexOf(id)) as [
    number,
    number?,
  ];
  // A bound that the loop carries is known before it only if no iteration changes it.
  const isBoundKept = second !== undefined && (steps.length <= second || steps[second] === 0);
  const bound = isScalar ? literal(decides) : isBoundKept ? known(second) : undefined;
  const upwards = compared.startsWith('<');
  const start = known(first);
  if (!bound || !start || steps[first] !== (upwards ? 1 : -1)) return undefined;
  // The last number that it counts to may be fractional, as in `i < n / 2`.
  const distance = upwards ? appliedTo('-', bound, start) : appliedTo('-', start, bound);
  const whole = compared.endsWith('=')
    ? appliedTo('+', appliedTo('Math.floor', distance), constant(1))
    : appliedTo('Math.ceil', distance);
  return appliedTo('Math.max', constant(0), whole);
}

function literal({ attrs: { value } }: ProgramOp): NumberExpr | undefined {
  return typeof value === 'number' ? constant(value) : undefined;
}
