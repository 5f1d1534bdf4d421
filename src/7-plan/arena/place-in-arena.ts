import {
  isGradientSum,
  missingOperands,
  valuesThatMayMiss,
} from '../../../runtime/program/missing-gradients.ts';
import type { Step } from '../../../runtime/program/plan.ts';
import type { Program, ValueId } from '../../../runtime/program/program.ts';
import { bytesOf } from '../storages.ts';
import { type LiveRange, layOut, mostAlive } from './layout.ts';

export interface ArenaPlan {
  readonly steps: readonly Step[];
  readonly bytes: number;
  /** The most bytes in it that are alive at once. */
  readonly alive: number;
}

/** A piece of memory, followed through the steps. */
interface Piece {
  /** The step and output that make it. */
  readonly step: number;
  readonly output: number;
  readonly bytes: number;
  owners: number;
  /** Undefined: it outlives the run. */
  diesAt: number | undefined;
}

/**
 * Puts what the steps make and free again into one block. What stays, goes through a control op, or belongs
 * to a sum of gradients that may be missing has memory of its own: the sum may be another one's memory. `staying` are outputs and kept values.
 */
export function placeInArena(
  { values }: Program,
  steps: readonly Step[],
  staying: ReadonlySet<ValueId>,
): ArenaPlan {
  const pieceOf = new Map<ValueId, Piece>();
  const pieces: Piece[] = [];
  const outside = new Set<Piece>();
  const share = (id: ValueId, piece: Piece | undefined) => {
    if (!piece) return;
    piece.owners++;
    pieceOf.set(id, piece);
    if (staying.has(id)) outside.add(piece);
  };
  const mayMiss = valuesThatMayMiss(steps.map(({ op }) => op));
  steps.forEach(({ op, reuses, frees }, step) => {
    const { kernel } = op.op;
    const passesOn = isGradientSum(op.op) && missingOperands(op, mayMiss).length > 0;
    if (kernel.kind === 'control') {
      for (const id of op.inputs) if (pieceOf.has(id)) outside.add(pieceOf.get(id)!);
    } else {
      op.outputs.forEach((id, output) => {
        const base = kernel.kind === 'view' ? op.inputs[0]! : (reuses[output] ?? undefined);
        if (base !== undefined) {
          share(id, pieceOf.get(base));
          return;
        }
        const piece = { step, output, bytes: bytesOf(values, id), owners: 0, diesAt: undefined };
        pieces.push(piece);
        share(id, piece);
      });
    }
    for (const id of passesOn ? [...op.inputs, ...op.outputs] : []) {
      if (pieceOf.has(id)) outside.add(pieceOf.get(id)!);
    }
    for (const id of frees) {
      const piece = pieceOf.get(id);
      pieceOf.delete(id);
      if (piece && --piece.owners === 0) piece.diesAt = step;
    }
  });
  const inside = pieces.filter((piece): piece is Piece & { diesAt: number } => {
    return piece.bytes > 0 && piece.diesAt !== undefined && !outside.has(piece);
  });
  const ranges = inside.map(({ step, diesAt, bytes }): LiveRange => {
    return { from: step, to: diesAt, bytes };
  });
  const { offsets, bytes } = layOut(ranges);
  const placed = new Map<number, (number | null)[]>();
  inside.forEach(({ step, output }, i) => {
    const places = placed.get(step) ?? steps[step]!.op.outputs.map(() => null);
    places[output] = offsets[i]!;
    placed.set(step, places);
  });
  return {
    steps: steps.map((step, i) => (placed.has(i) ? { ...step, places: placed.get(i)! } : step)),
    bytes: inside.length > 0 ? bytes : 0,
    alive: mostAlive(ranges),
  };
}
