import {
  fillMissing,
  isGradientSum,
  isThere,
} from '../../../runtime/program/optional-gradients.ts';
import type { ProgramOp } from '../../../runtime/program/program.ts';
import type { Engine, GradientArithmetic, TargetValue } from '../target/target.ts';
import type { Slot } from './slots.ts';

/** Returns whether the result of an op with optional operands exists, as a boolean []; null if it always does. */
export function existenceOf<V extends TargetValue>(
  { op }: ProgramOp,
  operands: readonly Slot<V>[],
  { and, or }: GradientArithmetic<V>,
): V | null {
  const each = operands.map(({ exists }) => exists);
  if (isGradientSum(op) || (op === fillMissing && each.length > 1)) {
    return each.some((exists) => exists === null) ? null : (each as V[]).reduce(or);
  }
  if (op === fillMissing || op === isThere) return null;
  const optional = each.filter((exists) => exists !== null);
  return optional.length === 0 ? null : optional.reduce(and);
}

/** The result of `isThere` and `fillMissing`, whose operand is zeros if it doesn't exist; null for other ops. */
export function ofOptional<V extends TargetValue>(
  { op }: ProgramOp,
  [gradient]: readonly Slot<V>[],
  engine: Engine<V>,
): V | null {
  if (op === fillMissing) return gradient!.read();
  if (op === isThere) return gradient!.exists ?? engine.constant(1, 'i1');
  return null;
}
