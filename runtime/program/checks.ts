/** Effects that a program may have had when one of its checks fails, or a kernel rejects its values. */

import type { OpRecord } from '../ops/record/define-op.ts';
import type { Plan, Step } from './plan.ts';
import { oncePerProgram, type ProgramOp } from './program.ts';
import { writtenInputs, writtenOperands } from './writes.ts';

/**
 * Numbers of the inputs that a run copies beforehand: those that it writes before the last op for which it may be
 * given up, or in that op. A control op takes memory that only its run knows, and may find none.
 */
export function copiedInputs({ inputs, steps }: Pick<Plan, 'inputs' | 'steps'>): readonly number[] {
  const ops = steps.map(({ op }) => op);
  const last = ops.findLastIndex((op) => refuses(op) || takesMemory(op));
  if (last < 0) return none;
  const isInside = insideOf(ops[last]!) || takesMemory(ops[last]!);
  return writtenInputs({ inputs, ops: ops.slice(0, isInside ? last + 1 : last) });
}

function takesMemory({ call, regions = [] }: ProgramOp): boolean {
  return call !== undefined || regions.some(({ program }) => program.ops.length > 0);
}

const none: readonly number[] = [];

/** Whether a check may fail, or a kernel reject its values, when some operand of an op has been written. */
function isGivenUpLate(ops: readonly ProgramOp[]): boolean {
  const last = ops.findLastIndex(refuses);
  if (last < 0) return false;
  const writes = (op: ProgramOp) => writtenOperands(op).length > 0;
  return ops.slice(0, last).some(writes) || (writes(ops[last]!) && insideOf(ops[last]!));
}

/** Whether a line is written by a program that may bail out. */
export function holdsLines(steps: readonly Step[]): boolean {
  const ops = steps.map(({ op }) => op);
  return ops.some(refuses) && ops.some(hasLine);
}

/** Whether a run may bail out because of its values, so that the call needs its inputs again. */
export function mayBailOut(steps: readonly Step[]): boolean {
  return steps.some(({ op }) => refuses(op));
}

function refuses({ op, again, regions = [] }: ProgramOp): boolean {
  if (again !== undefined) return false;
  return op.mayRefuse || isCheck(op) || regions.some(({ program }) => hasRefusal(program));
}

const hasRefusal = oncePerProgram(({ ops }) => ops.some(refuses));

/** A call is rejected as a check fails, for shapes that it doesn't take. */
function isCheck({ name }: OpRecord): boolean {
  return name === 'assert' || name === 'call';
}

/**
 * Whether a check inside may come after a write: in a loop, a check at the start of an iteration follows the writes
 * of the iteration before.
 */
function insideOf({ op, regions = [] }: ProgramOp): boolean {
  return op.name === 'while' || regions.some(({ program }) => isLate(program));
}

const isLate = oncePerProgram(({ ops }) => isGivenUpLate(ops));

function hasLine({ op, regions = [] }: ProgramOp): boolean {
  return op.name === 'print' || regions.some(({ program }) => printsLines(program));
}

const printsLines = oncePerProgram(({ ops }) => ops.some(hasLine));
