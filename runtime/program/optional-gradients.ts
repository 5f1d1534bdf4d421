/**
 * Optional gradients, whose existence is data-dependent: an untaken branch or a loop without iterations produces none.
 * In a program, a missing gradient is a value without memory, which ops treat as eager backward treats null: a result
 * computed from it is missing, too, and a sum is its other term.
 */

import { operandUse } from '../device/kernel-op.ts';
import type { OpRecord } from '../ops/record/define-op.ts';
import { sameElements } from './alias-op.ts';
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
 * (gradient, ...others) → the gradient. A missing one becomes zeros if any of the others exists or there are no others.
 * For rules that need the gradients of all results of an op.
 */
export const fillMissing = missingOp('fillMissing', ([gradient]) => [gradient!], true);

/** (tensor) → the earlier gradient contributions of other nodes. Missing unless the run continues from such a sum. */
export const earlierSum: OpRecord = {
  ...missingOp('earlierSum', ([tensor]) => [tensor!], false),
  operands: [{ name: 'tensor', use: 'shape' }],
  optional: true,
};

/**
 * (gradient, name, other) → the gradient if `name` and `other` are one tensor in this run (with attr `apart`: two
 * tensors); otherwise missing. It adds a contribution to the right sum, for tensors that branches or loops forward.
 */
export const nameGradientOp: OpRecord = {
  ...sameElements('nameGradient'),
  operands: [
    { name: 'gradient', use: 'data' },
    { name: 'name', use: 'shape' },
    { name: 'other', use: 'shape' },
  ],
  optional: true,
};

/** (gradient) → whether it exists. */
export const isThere = missingOp('isThere', () => [{ dtype: 'bool', shape: [] }], false);

/** Whether the op is a gradient sum, which exists if one of its operands does. */
export function isGradientSum({ name }: OpRecord): boolean {
  return name === 'add' || name === 'listAdd';
}

const handlers: ReadonlySet<string> = new Set([
  'condBackward',
  'whileBackward',
  'callBackward',
  'listAdd',
]);

/** Whether the op handles missing operands itself; any other op is skipped if one is missing. */
export function acceptsMissing(op: OpRecord): boolean {
  return op === fillMissing || op === isThere || handlers.has(op.name);
}

/** Returns the operands whose data the op reads and that may be missing. */
export function optionalOperands(
  { op, inputs }: Pick<ProgramOp, 'op' | 'inputs'>,
  optional: ReadonlySet<ValueId>,
): ValueId[] {
  if (optional.size === 0) return [];
  return inputs.filter((id, i) => optional.has(id) && operandUse(op, i) === 'data');
}

/** Whether the results of an op may be missing. */
export function hasOptionalResults(
  programOp: Pick<ProgramOp, 'op' | 'inputs'>,
  optional: ReadonlySet<ValueId>,
): boolean {
  const { op, inputs } = programOp;
  if (op.optional) return true;
  if (optional.size === 0 || op === isThere) return false;
  if (op === fillMissing && inputs.length === 1) return false;
  if (isGradientSum(op) || op === fillMissing) return inputs.every((id) => optional.has(id));
  return optionalOperands(programOp, optional).length > 0;
}

/** Returns the values of a program that may be missing at run time; `gradients`: those among its inputs. */
export function optionalGradientsOf(
  ops: Iterable<ProgramOp>,
  gradients: Iterable<ValueId> = [],
): ReadonlySet<ValueId> {
  const optional = new Set(gradients);
  for (const op of ops) {
    if (hasOptionalResults(op, optional)) for (const id of op.outputs) optional.add(id);
  }
  return optional;
}
