/** What a run allocates after its first write to memory of the caller: reserved before that write. */

import type { Device } from '../device/device.ts';
import { invariant } from '../errors/invariant.ts';
import { alignedBytes } from '../memory/allocator.ts';
import type { Region } from '../memory/region.ts';
import { isGradientSum, missingOperands, valuesThatMayMiss } from '../program/missing-gradients.ts';
import type { Plan, Step } from '../program/plan.ts';
import type { ProgramOp, ValueId, ValueTable } from '../program/program.ts';
import { writtenInputs } from '../program/writes.ts';
import { sizeOf } from '../tensor/shape.ts';

/** Which blocks a run reserves, and before which step. */
export interface LateMemory {
  readonly before: number;
  readonly blocks: readonly number[];
  /** Bytes that some kernel takes while it runs. */
  readonly scratch: number;
  /** Per step from `before` on, per output: the number of its block; null: it takes none. */
  readonly blockOf: ReadonlyMap<number, readonly (number | null)[]>;
}

/** A block while the steps are followed. */
interface Piece {
  readonly block: number;
  owners: number;
  /** It may be held by others, so that nobody knows when it is free. */
  shared: boolean;
}

/**
 * What the plan's own values need after its first write to an input, so that a run out of memory fails before
 * that write: in blocks that later values take over where the plan frees the earlier ones. Null where nothing
 * is written, or nothing is made after it. Control ops take memory that only their run knows: what is written
 * before one of them is copied instead (`copiedInputs`).
 */
export function lateMemory(plan: Plan, values: ValueTable): LateMemory | null {
  const ops = plan.steps.map(({ op }) => op);
  const before = firstWrite(plan, ops);
  if (before < 0) return null;
  const blocks = new Blocks();
  const pieceOf = new Map<ValueId, Piece>();
  const blockOf = new Map<number, (number | null)[]>();
  const mayMiss = valuesThatMayMiss(ops);
  let scratch = 0;
  plan.steps.slice(before).forEach((step, i) => {
    const { op, frees } = step;
    const made = op.outputs.map((id, output): number | null => {
      const base = baseOf(step, output);
      let piece = base === undefined ? undefined : pieceOf.get(base);
      const bytes = base === undefined ? blockBytes(step, output, values) : 0;
      if (bytes > 0) piece = { block: blocks.take(bytes), owners: 0, shared: false };
      if (!piece) return null;
      piece.owners++;
      pieceOf.set(id, piece);
      return bytes > 0 ? piece.block : null;
    });
    if (made.some((block) => block !== null)) blockOf.set(before + i, made);
    // The sum of a gradient that misses is the other one, not a copy of it.
    const passesOn = isGradientSum(op.op) && missingOperands(op, mayMiss).length > 0;
    if (passesOn || op.op.kernel.kind === 'control') {
      for (const id of [...op.inputs, ...op.outputs]) {
        const piece = pieceOf.get(id);
        if (piece) piece.shared = true;
      }
    }
    scratch = Math.max(scratch, scratchOf(op, values));
    for (const id of frees) {
      const piece = pieceOf.get(id);
      pieceOf.delete(id);
      if (piece && --piece.owners === 0 && !piece.shared) blocks.free(piece.block);
    }
  });
  if (blocks.bytes.length === 0 && scratch === 0) return null;
  return { before, blocks: blocks.bytes, scratch, blockOf };
}

/** Number of the first step that writes to an input; −1: none does. */
function firstWrite({ inputs }: Plan, ops: readonly ProgramOp[]): number {
  const all = writtenInputs({ inputs, ops });
  if (all.length === 0) return -1;
  let [low, high] = [0, ops.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    const writes = writtenInputs({ inputs, ops: ops.slice(0, middle + 1) }).length > 0;
    if (writes) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The operand whose memory an output shows or takes over. */
function baseOf({ op, reuses }: Step, output: number): ValueId | undefined {
  return op.op.kernel.kind === 'view' ? op.inputs[0] : (reuses[output] ?? undefined);
}

/** Of what has no place in the arena. */
function blockBytes({ op, places }: Step, output: number, values: ValueTable): number {
  if (op.op.kernel.kind === 'control' || typeof places?.[output] === 'number') return 0;
  const { shape, dtype, device } = values[op.outputs[output]!]!;
  return alignedBytes(sizeOf(shape) * device.elementBytes(dtype));
}

function scratchOf({ op, inputs, outputs, attrs }: ProgramOp, values: ValueTable): number {
  const { kind } = op.kernel;
  if (kind === 'view' || kind === 'control' || kind === 'fused') return 0;
  const metas = (ids: readonly ValueId[]) => ids.map((id) => values[id]!);
  const made = metas(op.inPlace ? inputs.slice(0, 1) : outputs);
  return made[0]!.device.scratchBytes(op, metas(inputs), made, attrs);
}

/** Blocks of one size each, for one value after the other. */
class Blocks {
  readonly bytes: number[] = [];
  readonly #free = new Map<number, number[]>();

  take(bytes: number): number {
    return this.#free.get(bytes)?.pop() ?? this.bytes.push(bytes) - 1;
  }

  free(block: number): void {
    const bytes = this.bytes[block]!;
    const free = this.#free.get(bytes);
    if (free) free.push(block);
    else this.#free.set(bytes, [block]);
  }
}

/** The memory of one run: the block that the plan lays out, and what is reserved for late values. */
export class RunMemory {
  readonly #device: Device | undefined;
  readonly #arenaBytes: number;
  readonly #late: LateMemory | null;
  arena: Region | null = null;
  readonly #blocks: (Region | null)[];

  constructor(device: Device | undefined, arenaBytes: number, late: LateMemory | null) {
    this.#device = device;
    this.#arenaBytes = arenaBytes;
    this.#late = late;
    this.#blocks = (late?.blocks ?? []).map(() => null);
  }

  /** At the start of a run. Throws OutOfMemoryError. */
  open(): void {
    this.arena = this.#region(this.#arenaBytes);
  }

  /** Before the first write. Throws OutOfMemoryError. */
  reserve(): void {
    const { blocks, scratch } = this.#late!;
    for (let i = 0; i < blocks.length; i++) this.#blocks[i] = this.#region(blocks[i]!);
    // Given back at once: kernels find it, as everything else has its block.
    this.#region(scratch)?.close();
  }

  /** For the next value in it. */
  block(number: number): Region {
    const block = this.#blocks[number];
    invariant(block?.isEmpty, 'a reserved block is not free');
    return block;
  }

  /** Each block goes with the last value in it. */
  close(): void {
    this.arena?.close();
    this.arena = null;
    for (let i = 0; i < this.#blocks.length; i++) {
      this.#blocks[i]?.close();
      this.#blocks[i] = null;
    }
  }

  #region(bytes: number): Region | null {
    return (bytes > 0 && this.#device?.allocator.openRegion?.(bytes)) || null;
  }
}
