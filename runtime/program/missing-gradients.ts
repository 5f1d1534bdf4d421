/**
 * Gradients that are there or not, as the run decides: a branch that was not taken and a loop without iterations
 * bring none. In a program that is a value without memory. Ops pass it on as eager backward passes on null:
 * what is computed from it is missing, too, and of a sum the other part is left.
 */

import { type OpRecord, operandUse } from '../ops/core/define-op.ts';
import type { ProgramOp, ValueId } from './program.ts';

function missingOp(name: string, infer: OpRecord['infer'], variadic: boolean): OpRecord {
  return {
    name,
    operands: [{ name: variadic ? 'gradients' : 'gradient', use: 'data' }],
    variadic,
    infer,
    kernel: { kind: 'control', form: 'missing' },
    layout: 'contiguous',
    inPlace: false,
    vjp: undefined,
  };
}

/**
 * (gradient, ...others) → the gradient; zeros where it is missing and one of the others is there, or always
 * if there are no others. For rules that need the gradients of all results of an op.
 */
export const fillMissing = missingOp('fillMissing', ([gradient]) => [gradient!], true);

/** (gradient) → whether it is there. */
export const isThere = missingOp('isThere', () => [{ dtype: 'bool', shape: [] }], false);

/** Their gradient is missing where nobody has read the element, or the region that ran brings none. */
const sources: ReadonlySet<string> = new Set([
  'condBackward',
  'whileBackward',
  'callBackward',
  'listGradientAt',
  'listTake',
]);

/** There as soon as one operand is. */
export function isGradientSum({ name }: OpRecord): boolean {
  return name === 'add' || name === 'listAdd';
}

const lookers: ReadonlySet<string> = new Set([
  'condBackward',
  'whileBackward',
  'callBackward',
  'listAdd',
]);

/** What looks at its operands itself; any other op is left out where one is missing. */
export function takesMissing(op: OpRecord): boolean {
  return op === fillMissing || op === isThere || lookers.has(op.name);
}

/** Operands whose data the op reads and that may be missing. */
export function missingOperands(
  { op, inputs }: Pick<ProgramOp, 'op' | 'inputs'>,
  mayMiss: ReadonlySet<ValueId>,
): ValueId[] {
  if (mayMiss.size === 0) return [];
  return inputs.filter((id, i) => mayMiss.has(id) && operandUse(op, i) === 'data');
}

/** Whether what an op makes may be missing. */
export function mayMissResults(
  given: Pick<ProgramOp, 'op' | 'inputs'>,
  mayMiss: ReadonlySet<ValueId>,
): boolean {
  const { op, inputs } = given;
  if (sources.has(op.name)) return true;
  if (mayMiss.size === 0 || op === isThere) return false;
  if (op === fillMissing && inputs.length === 1) return false;
  if (isGradientSum(op) || op === fillMissing) return inputs.every((id) => mayMiss.has(id));
  return missingOperands(given, mayMiss).length > 0;
}

/** The values of a program that may be missing when it runs; `given`: of what enters it. */
export function valuesThatMayMiss(
  ops: Iterable<ProgramOp>,
  given: Iterable<ValueId> = [],
): ReadonlySet<ValueId> {
  const mayMiss = new Set(given);
  for (const op of ops) {
    if (mayMissResults(op, mayMiss)) for (const id of op.outputs) mayMiss.add(id);
  }
  return mayMiss;
}
