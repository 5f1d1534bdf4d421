import type { UserPosition } from '../../runtime/errors/position.ts';
import { alignedBytes } from '../../runtime/memory/allocator.ts';
import type { Plan } from '../../runtime/program/plan.ts';
import type { ProgramOp, ValueId, ValueTable } from '../../runtime/program/program.ts';
import { sizeOf } from '../../runtime/tensor/shape.ts';

/** A piece of memory that the program itself allocated, alive at its peak. */
export interface PeakValue {
  readonly value: ValueId;
  readonly bytes: number;
  /** The op that made it, and the user's line that asked for the op. */
  readonly op: string;
  readonly at: UserPosition | undefined;
}

export interface PeakOfPlan {
  /** The op during which most bytes are alive, and its number in the plan; −1: before the first. */
  readonly step: number;
  readonly op: string;
  readonly at: UserPosition | undefined;
  /** Largest first. */
  readonly values: readonly PeakValue[];
  readonly bytes: number;
}

interface Piece extends PeakValue {
  owners: number;
}

/** What is alive at the peak of a plan, of what its ops allocate: a walk over its steps. */
export function peakOfPlan(plan: Plan, values: ValueTable): PeakOfPlan {
  const pieces = new Map<ValueId, Piece>();
  let live = 0;
  let best: PeakOfPlan = { step: -1, op: '', at: undefined, values: [], bytes: 0 };
  let bestPieces: readonly Piece[] = [];
  const share = (id: ValueId, base: ValueId) => {
    const piece = pieces.get(base);
    if (!piece) return;
    piece.owners++;
    pieces.set(id, piece);
  };
  const free = (id: ValueId) => {
    const piece = pieces.get(id);
    pieces.delete(id);
    if (piece && --piece.owners === 0) live -= piece.bytes;
  };
  plan.steps.forEach(({ op, reuses, frees }, step) => {
    op.outputs.forEach((id, i) => {
      const base = op.op.kernel.kind === 'view' ? op.inputs[0] : (reuses[i] ?? undefined);
      if (base !== undefined) {
        share(id, base);
        return;
      }
      const piece = newPiece(id, op, values);
      pieces.set(id, piece);
      live += piece.bytes;
    });
    if (live > best.bytes) {
      best = { step, op: op.op.name, at: op.at, values: [], bytes: live };
      bestPieces = [...new Set(pieces.values())];
    }
    for (const id of frees) free(id);
  });
  const largestFirst = bestPieces.toSorted((a, b) => b.bytes - a.bytes || a.value - b.value);
  return {
    ...best,
    values: largestFirst.map(({ value, bytes, op, at }) => ({ value, bytes, op, at })),
  };
}

function newPiece(value: ValueId, { op, at }: ProgramOp, values: ValueTable): Piece {
  const { dtype, shape, device } = values[value]!;
  const bytes = alignedBytes(sizeOf(shape) * device.elementBytes(dtype));
  return { value, bytes, op: op.name, at, owners: 1 };
}
