/** What a run allocates after its first write to memory of the caller: reserved before that write. */

import type { Device } from '../device/device.ts';
import { invariant } from '../errors/invariant.ts';
import { alignedBytes } from '../memory/allocator.ts';
import type { Region } from '../memory/region.ts';
import { isFused } from '../ops/define-op.ts';
import { isGradientSum, missingOperands, valuesThatMayMiss } from '../program/missing-gradients.ts';
import type { Plan, Step } from '../program/plan.ts';
import type { ProgramOp, ValueId, ValueTable } from '../program/program.ts';
import { writtenInputs } from '../program/writes.ts';
import { sizeOf } from '../tensor/shape.ts';

/** Which blocks a run reserves, and before which step. */
export interface LateMemory {
  readonly before: number;
  readonly blocks: readonly LateBlock[];
  /** Bytes that some kernel takes while it runs, per device. */
  readonly scratch: ReadonlyMap<Device, number>;
  /** Per step from `before` on, per output: the number of its block; null: it takes none. */
  readonly blockOf: ReadonlyMap<number, readonly (number | null)[]>;
}

/** Bytes on a device, for one value after the other. */
export interface LateBlock {
  readonly device: Device;
  readonly bytes: number;
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
  const scratch = new Map<Device, number>();
  const pieceOf = new Map<ValueId, Piece>();
  const blockOf = new Map<number, (number | null)[]>();
  const mayMiss = valuesThatMayMiss(ops);
  plan.steps.slice(before).forEach((step, i) => {
    const { op, frees } = step;
    const made = op.outputs.map((id, output): number | null => {
      const { device } = values[id]!;
      const base = baseOf(step, output);
      let piece = base === undefined ? undefined : pieceOf.get(base);
      const bytes = base === undefined ? blockBytes(step, output, values) : 0;
      if (bytes > 0) piece = { block: blocks.take(device, bytes), owners: 0, shared: false };
      if (!piece) return null;
      piece.owners++;
      pieceOf.set(id, piece);
      return bytes > 0 && device.allocator.openRegion ? piece.block : null;
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
    const kernel = scratchOf(op, values);
    if (kernel) scratch.set(kernel.device, Math.max(scratch.get(kernel.device) ?? 0, kernel.bytes));
    for (const id of frees) {
      const piece = pieceOf.get(id);
      pieceOf.delete(id);
      if (piece && --piece.owners === 0 && !piece.shared) blocks.free(piece.block);
    }
  });
  if (blocks.all.length === 0 && scratch.size === 0) return null;
  return { before, blocks: blocks.all, scratch, blockOf };
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

function scratchOf(
  { op, inputs, outputs, attrs }: ProgramOp,
  values: ValueTable,
): LateBlock | null {
  const { kind } = op.kernel;
  if (kind === 'view' || kind === 'control' || isFused(op.kernel)) return null;
  const metas = (ids: readonly ValueId[]) => ids.map((id) => values[id]!);
  const made = metas(op.inPlace ? inputs.slice(0, 1) : outputs);
  const { device } = made[0]!;
  const bytes = device.scratchBytes(op, metas(inputs), made, attrs);
  return bytes > 0 ? { device, bytes } : null;
}

/** Blocks of one device and size each, for one value after the other. */
class Blocks {
  readonly all: LateBlock[] = [];
  readonly #free = new Map<Device, Map<number, number[]>>();

  take(device: Device, bytes: number): number {
    return this.#freeOf({ device, bytes }).pop() ?? this.all.push({ device, bytes }) - 1;
  }

  free(block: number): void {
    this.#freeOf(this.all[block]!).push(block);
  }

  #freeOf({ device, bytes }: LateBlock): number[] {
    let sizes = this.#free.get(device);
    if (!sizes) {
      sizes = new Map();
      this.#free.set(device, sizes);
    }
    let free = sizes.get(bytes);
    if (!free) {
      free = [];
      sizes.set(bytes, free);
    }
    return free;
  }
}

/** The memory of one run: the block that the plan lays out, and what is reserved for late values. */
export class RunMemory {
  readonly #device: Device | undefined;
  readonly #arenaBytes: number;
  readonly #late: LateMemory | null;
  arena: Region | null = null;
  readonly #blocks: (Region | null)[];
  readonly #pooled: ReadonlyMap<Device, readonly number[]>;

  constructor(device: Device | undefined, arenaBytes: number, late: LateMemory | null) {
    this.#device = device;
    this.#arenaBytes = arenaBytes;
    this.#late = late;
    this.#blocks = (late?.blocks ?? []).map(() => null);
    this.#pooled = pooledBlocks(late?.blocks ?? []);
  }

  /** At the start of a run. Throws OutOfMemoryError. */
  open(): void {
    this.arena = this.#device ? regionOn(this.#device, this.#arenaBytes) : null;
  }

  /** Before the first write. Throws OutOfMemoryError. */
  reserve(): void {
    const { blocks, scratch } = this.#late!;
    for (let i = 0; i < blocks.length; i++) {
      const { device, bytes } = blocks[i]!;
      this.#blocks[i] = regionOn(device, bytes);
    }
    for (const [device, sizes] of this.#pooled) device.allocator.reserve!(sizes);
    // Given back at once: kernels find it, as everything else has its block.
    for (const [device, bytes] of scratch) regionOn(device, bytes)?.close();
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
}

function regionOn({ allocator }: Device, bytes: number): Region | null {
  return (bytes > 0 && allocator.openRegion?.(bytes)) || null;
}

/** Sizes of the blocks on devices that have no regions. */
function pooledBlocks(blocks: readonly LateBlock[]): ReadonlyMap<Device, readonly number[]> {
  const sizes = new Map<Device, number[]>();
  for (const { device, bytes } of blocks) {
    if (device.allocator.openRegion || !device.allocator.reserve) continue;
    sizes.set(device, [...(sizes.get(device) ?? []), bytes]);
  }
  return sizes;
}
