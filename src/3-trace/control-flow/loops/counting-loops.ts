/** Loops that count: the numbers that they leave follow from the numbers before them. */

import type { Program, ProgramOp, ValueId } from '../../../../runtime/program/program.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import type { NumberExpr } from '../../../guards/number-expr.ts';
import { appliedTo, constant, isWhole } from '../../inputs/applied-number.ts';
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
 * Notes the values of integers to which each iteration adds a constant integer, if the loop ends where one of them
 * reaches a number that is known before it. With fractions, the sum of the steps could be rounded otherwise.
 */
export function noteCounted(t: Tracer, { operands, test, body, results }: CountingLoop): void {
  const { determined } = t.control;
  const makers = new Map(body.ops.map((op) => [op.outputs[0], op]));
  const steps = results.map((_, i) => stepOf(body, i, makers));
  const iterations = iterationsOf(test, steps, (operand) => determined.of(operands[operand]!));
  if (!iterations) return;
  for (const [i, result] of results.entries()) {
    const start = determined.of(operands[i]!);
    const step = steps[i];
    if (!start || !isWhole(start) || !Number.isSafeInteger(step)) continue;
    determined.note(result, appliedTo('+', start, appliedTo('*', constant(step!), iterations)));
  }
}

/** Returns what an iteration adds to the carried number; undefined if that isn't a constant. */
function stepOf(
  { inputs, outputs }: Program,
  index: number,
  makers: ReadonlyMap<ValueId | undefined, ProgramOp>,
): number | undefined {
  let step = 0;
  let value = outputs[index]!;
  while (value !== inputs[index]) {
    const maker = makers.get(value);
    if (maker?.op.name !== 'addScalar' && maker?.op.name !== 'subScalar') return undefined;
    const added = maker.attrs.value;
    if (typeof added !== 'number') return undefined;
    step += maker.op.name === 'addScalar' ? added : -added;
    value = maker.inputs[0]!;
  }
  return step;
}

/** The ops lt, le, gt and ge, of two operands or of one and a number. */
const comparison = /^([lg])([te])(Scalar)?$/;

/** Returns how often the loop runs, if its condition compares a number that it counts by ones with a known one. */
function iterationsOf(
  { ops, inputs, outputs }: Program,
  steps: readonly (number | undefined)[],
  known: (operand: number) => NumberExpr | undefined,
): NumberExpr | undefined {
  const [decides, ...others] = ops;
  if (!decides || others.length > 0 || decides.outputs[0] !== outputs[0]) return undefined;
  const [, direction, end, isScalar] = comparison.exec(decides.op.name) ?? [];
  if (!direction) return undefined;
  const [first, second] = decides.inputs.map((id: ValueId) => inputs.indexOf(id)) as [
    number,
    number?,
  ];
  // A bound that the loop carries is known before it only if no iteration changes it.
  const isBoundKept = second !== undefined && (steps.length <= second || steps[second] === 0);
  const bound = isScalar ? literal(decides) : isBoundKept ? known(second) : undefined;
  const upwards = direction === 'l';
  const start = known(first);
  if (!bound || !start || steps[first] !== (upwards ? 1 : -1)) return undefined;
  // The last number that it counts to may be fractional, as in `i < n / 2`.
  const distance = upwards ? appliedTo('-', bound, start) : appliedTo('-', start, bound);
  const whole =
    end === 'e'
      ? appliedTo('+', appliedTo('Math.floor', distance), constant(1))
      : appliedTo('Math.ceil', distance);
  return appliedTo('Math.max', constant(0), whole);
}

function literal({ attrs: { value } }: ProgramOp): NumberExpr | undefined {
  return typeof value === 'number' ? constant(value) : undefined;
}
