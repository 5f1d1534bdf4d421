/** What a program may have done when one of its checks fails. */

import type { OpRecord } from '../ops/define-op.ts';
import type { Plan, Step } from './plan.ts';
import type { ProgramOp } from './program.ts';
import { writtenInputs, writtenOperands } from './writes.ts';

/**
 * Numbers of the inputs that a run copies beforehand: those that it writes, where a check may fail after some
 * write. None where no check does.
 */
export function copiedInputs({ inputs, steps }: Pick<Plan, 'inputs' | 'steps'>): readonly number[] {
  const ops = steps.map(({ op }) => op);
  return fails(ops) ? writtenInputs({ inputs, ops }) : none;
}

const none: readonly number[] = [];

/** Whether a check may fail when some operand of an op has been written. */
function fails(ops: readonly ProgramOp[]): boolean {
  let written = false;
  for (const op of ops) {
    const writes = writtenOperands(op).length > 0;
    if (hasCheck(op) && (written || (writes && insideOf(op)))) return true;
    written ||= writes;
  }
  return false;
}

/** Whether a line is written by a program in which a check may fail. */
export function checksBesideLines(steps: readonly Step[]): boolean {
  const ops = steps.map(({ op }) => op);
  return ops.some(hasCheck) && ops.some(hasLine);
}

/** Whether a run may be given up for its values, and the call needs its inputs again. */
export function mayBeGivenUp(steps: readonly Step[]): boolean {
  return steps.some(({ op }) => refuses(op));
}

function refuses({ op, regions = [] }: ProgramOp): boolean {
  if (op.mayRefuse || isCheck(op)) return true;
  return regions.some(({ program }) => program.ops.some(refuses));
}

/** A call is refused as a check fails, for shapes that it doesn't take. */
function isCheck({ name }: OpRecord): boolean {
  return name === 'assert' || name === 'call';
}

/** Of a loop, a check at the start of a turn comes after the writes of the one before. */
function insideOf({ op, regions = [] }: ProgramOp): boolean {
  return op.name === 'while' || regions.some(({ program }) => fails(program.ops));
}

function hasCheck({ op, regions = [] }: ProgramOp): boolean {
  return isCheck(op) || regions.some(({ program }) => program.ops.some(hasCheck));
}

function hasLine({ op, regions = [] }: ProgramOp): boolean {
  return op.name === 'print' || regions.some(({ program }) => program.ops.some(hasLine));
}
