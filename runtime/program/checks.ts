/** Effects that a program may have before a check fails or a kernel rejects its values. */

import type { OpRecord } from '../ops/record/define-op.ts';
import type { Plan, Step } from './plan.ts';
import { oncePerProgram, type ProgramOp } from './program.ts';
import { writtenInputs, writtenOperands } from './writes.ts';

/**
 * Returns the indices of inputs that a run copies beforehand: inputs written by the last op that may bail out, or
 * earlier. Control ops may run out of memory, since they allocate a data-dependent amount.
 */
export function copiedInputs({ inputs, steps }: Pick<Plan, 'inputs' | 'steps'>): readonly number[] {
  const ops = steps.map(({ op }) => op);
  const last = ops.findLastIndex((op) => mayRefuse(op) || takesMemory(op));
  if (last < 0) return none;
  const isInside = insideOf(ops[last]!) || takesMemory(ops[last]!);
  return writtenInputs({ inputs, ops: ops.slice(0, isInside ? last + 1 : last) });
}

function takesMemory({ call, regions = [] }: ProgramOp): boolean {
  return call !== undefined || regions.some(({ program }) => program.ops.length > 0);
}

const none: readonly number[] = [];

/** Whether a check may fail or a kernel may reject its values after an operand was written. */
function isGivenUpLate(ops: readonly ProgramOp[]): boolean {
  const last = ops.findLastIndex(mayRefuse);
  if (last < 0) return false;
  const writes = (op: ProgramOp) => writtenOperands(op).length > 0;
  return ops.slice(0, last).some(writes) || (writes(ops[last]!) && insideOf(ops[last]!));
}

/** Whether a program may bail out and prints lines, which are then held back. */
export function holdsLines(steps: readonly Step[]): boolean {
  const ops = steps.map(({ op }) => op);
  return ops.some(mayRefuse) && ops.some(hasLine);
}

/** Whether a run may bail out because of its values, so that the call needs its inputs again. */
export function mayBailOut(steps: readonly Step[]): boolean {
  return steps.some(({ op }) => mayRefuse(op));
}

/** Whether the op is a check, or its kernel may reject its values. */
export function mayRefuse({ op, again, regions = [] }: ProgramOp): boolean {
  if (again !== undefined) return false;
  return op.mayRefuse || isCheck(op) || regions.some(({ program }) => hasRefusal(program));
}

const hasRefusal = oncePerProgram(({ ops }) => ops.some(mayRefuse));

/** Whether the op is a check. A `call` is one, because it rejects unsupported shapes. */
function isCheck({ name }: OpRecord): boolean {
  return name === 'assert' || name === 'call';
}

/** Whether the op is, or contains, a check of a decision: if it fails, the code takes another path. */
export function isChecked({ op, regions = [] }: Pick<ProgramOp, 'op' | 'regions'>): boolean {
  return op.name === 'assert' || regions.some(({ program }) => hasChecked(program));
}

const hasChecked = oncePerProgram(({ ops }) => ops.some(isChecked));

/**
 * Whether a check inside the op may come after a write: in a loop, a check at the start of an iteration follows
 * the writes of the previous iteration.
 */
function insideOf({ op, regions = [] }: ProgramOp): boolean {
  return op.name === 'while' || regions.some(({ program }) => isLate(program));
}

const isLate = oncePerProgram(({ ops }) => isGivenUpLate(ops));

function hasLine({ op, regions = [] }: ProgramOp): boolean {
  return op.name === 'print' || regions.some(({ program }) => printsLines(program));
}

const printsLines = oncePerProgram(({ ops }) => ops.some(hasLine));
