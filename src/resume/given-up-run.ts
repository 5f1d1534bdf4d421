/** What is taken back when a program is given up in its middle, and the user's code runs instead. */

import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import type { Holder } from '../../runtime/memory/holder.ts';
import { bind1 } from '../../runtime/ops/bind.ts';
import { copy } from '../../runtime/ops/copy.ts';
import { copy_ } from '../../runtime/ops/in-place.ts';
import type { Step } from '../../runtime/program/plan.ts';
import type { ProgramOp } from '../../runtime/program/program.ts';
import { writtenOperands } from '../../runtime/program/writes.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';

/** Tensors as they were before a run. */
export class MemoryBefore {
  readonly #kept: readonly { readonly tensor: Tensor; readonly before: Tensor }[];
  readonly #versions: ReadonlyMap<Holder, number>;

  constructor(tensors: Iterable<Tensor>) {
    const all = [...new Set(tensors)];
    this.#versions = new Map(all.map(({ holder }) => [holder!, holder!.version]));
    this.#kept = noGrad(() => all.map((tensor) => ({ tensor, before: bind1(copy, [tensor]) })));
  }

  /** Nothing has been written. */
  restore(): void {
    noGrad(() => {
      for (const { tensor, before } of this.#kept) copy_(tensor, before);
    });
    for (const [holder, version] of this.#versions) holder.version = version;
  }

  dispose(): void {
    for (const { before } of this.#kept) before.dispose();
  }
}

/** Whether a check of the program may fail after it has written to one of the operands of an op. */
export function checksAfterWrites(steps: readonly Step[]): boolean {
  return fails(steps.map(({ op }) => op));
}

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

/** Of a loop, a check at the start of a turn comes after the writes of the one before. */
function insideOf({ op, regions = [] }: ProgramOp): boolean {
  return op.name === 'while' || regions.some(({ program }) => fails(program.ops));
}

function hasCheck({ op, regions = [] }: ProgramOp): boolean {
  return op.name === 'assert' || regions.some(({ program }) => program.ops.some(hasCheck));
}

function hasLine({ op, regions = [] }: ProgramOp): boolean {
  return op.name === 'print' || regions.some(({ program }) => program.ops.some(hasLine));
}
