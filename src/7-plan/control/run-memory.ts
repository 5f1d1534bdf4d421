import type { GivenOperand } from '../../../runtime/program/dynamic-call.ts';
import type { Plan, PlannedSubgraph } from '../../../runtime/program/plan.ts';
import type { ValueId } from '../../../runtime/program/program.ts';
import type { Shape } from '../../../runtime/tensor/shape.ts';

/** One allocation while a run is followed: its size, and how many hold it. */
export interface Piece {
  /** Aligned; 0 for memory of the caller. */
  readonly bytes: number;
  owners: number;
  /** Of a control op's last result: the runs of its regions that backward goes back to. */
  readonly tape: RecordedRun[] | null;
  /** Of a list: its elements; of gradients, null stands for zeros. */
  readonly items?: readonly (Piece | null)[];
  /** Of the mark of a list: which element of how many. */
  readonly mark?: { readonly index: number; readonly length: number };
  /** Of a tensor whose shape only the run knows; its data is the one element. */
  readonly shape?: Shape;
}

/** What is in a scope. */
export type FollowedScope = Map<ValueId, Piece>;

/** A run of a region that is on a tape. */
export interface RecordedRun {
  readonly region: PlannedSubgraph;
  readonly scope: FollowedScope;
  /** Of a call: what the run has brought. */
  readonly given?: readonly GivenOperand[];
}

/** Counts bytes as the allocator does, by owners as holders do. */
export class RunMemory {
  live: number;
  peak: number;

  /** `live`: of what there is at the start. */
  constructor(live = 0) {
    this.live = live;
    this.peak = live;
  }

  /** With one owner. */
  make(bytes: number): Piece {
    this.live += bytes;
    this.peak = Math.max(this.peak, this.live);
    return { bytes, owners: 1, tape: null };
  }

  makeTape(): Piece & { readonly tape: RecordedRun[] } {
    return { bytes: 0, owners: 1, tape: [] };
  }

  /** A list, which owns its elements anew. */
  makeList(items: readonly (Piece | null)[]): Piece {
    for (const item of items) if (item) this.share(item);
    return { bytes: 0, owners: 1, tape: null, items };
  }

  /** A tensor whose shape only the run knows, which takes over one ownership of its data. */
  makeDynamic(data: Piece, shape: Shape): Piece {
    return { bytes: 0, owners: 1, tape: null, items: [data], shape };
  }

  /** A list that takes over one ownership of each of its elements. */
  gather(items: readonly (Piece | null)[]): Piece {
    return { bytes: 0, owners: 1, tape: null, items };
  }

  /**
   * Takes what a value is made of out of a scope, with one ownership each: that of the value itself where
   * it moves and nobody else has it.
   */
  take(scope: FollowedScope, id: ValueId, moves: boolean): readonly (Piece | null)[] {
    const piece = scope.get(id)!;
    const items = piece.items ?? [];
    if (moves && piece.owners === 1) {
      scope.delete(id);
      return items;
    }
    for (const item of items) if (item) this.share(item);
    if (moves) this.dropFrom(scope, id);
    return items;
  }

  /** One more owner. */
  share(piece: Piece): Piece {
    piece.owners++;
    return piece;
  }

  drop(piece: Piece): void {
    if (--piece.owners > 0) return;
    this.live -= piece.bytes;
    for (const { scope } of piece.tape ?? []) this.clear(scope);
    for (const item of piece.items ?? []) if (item) this.drop(item);
  }

  /** Bytes that come and go. */
  touch(bytes: number): void {
    this.peak = Math.max(this.peak, this.live + bytes);
  }

  dropFrom(scope: FollowedScope, id: ValueId): void {
    const piece = scope.get(id);
    if (!piece) return;
    scope.delete(id);
    this.drop(piece);
  }

  dropAtEnd(scope: FollowedScope, { freesAtEnd }: Plan): void {
    for (const id of freesAtEnd) this.dropFrom(scope, id);
  }

  clear(scope: FollowedScope): void {
    for (const id of [...scope.keys()]) this.dropFrom(scope, id);
  }

  /** What `body` adds to the live bytes while it runs, at most. */
  excursion(body: () => void): number {
    const [before, peak] = [this.live, this.peak];
    this.peak = before;
    body();
    const most = this.peak - before;
    this.peak = Math.max(peak, this.peak);
    return most;
  }
}

/** Memory of the caller, who holds it before, during and after the run. */
export function callersPiece(): Piece {
  return { bytes: 0, owners: 2, tape: null };
}

/** All that is on a tape, and on the tapes on it. */
export function heldBy(tape: Piece): Set<Piece> {
  const held = new Set<Piece>();
  const add = (piece: Piece) => {
    for (const { scope } of piece.tape ?? []) {
      for (const inner of scope.values()) {
        held.add(inner);
        add(inner);
      }
    }
    if (piece.shape) for (const data of piece.items ?? []) if (data) held.add(data);
  };
  add(tape);
  return held;
}
