/** Memory that a run allocates after its first write to memory of the caller: reserved before that write. */

import type { Device } from '../device/device.ts';
import { invariant } from '../errors/invariant.ts';
import type { Region } from '../memory/region.ts';
import { type Allocation, allocationsOf } from '../program/allocations.ts';
import type { Plan } from '../program/plan.ts';
import type { ProgramOp, ValueTable } from '../program/program.ts';
import { scratchBytesOf } from '../program/value-bytes.ts';
import { writtenInputs } from '../program/writes.ts';

/** The blocks that a run reserves, and the step before which it does. */
export interface LateMemory {
  readonly before: number;
  readonly blocks: readonly LateBlock[];
  /** Bytes that some kernel takes while it runs, per device. */
  readonly scratch: ReadonlyMap<Device, number>;
  /** The number of each output's block, by step from `before` on; null if it takes none. */
  readonly blockOf: ReadonlyMap<number, readonly (number | null)[]>;
}

/** Bytes on a device, for one value after the other. */
export interface LateBlock {
  readonly device: Device;
  readonly bytes: number;
}

/**
 * Returns the memory that the plan's own values need after its first write to an input, so that a run out of memory
 * fails before that write: in blocks that later values take over where the plan frees the earlier ones. Null where
 * nothing is written, or nothing is made after it. Control ops take memory that only their run knows: what is written
 * before one of them is copied instead (`copiedInputs`).
 */
export function lateMemory(plan: Plan, values: ValueTable): LateMemory | null {
  const ops = plan.steps.map(({ op }) => op);
  const before = firstWrite(plan, ops);
  if (before < 0) return null;
  const blocks = new Blocks();
  const scratch = new Map<Device, number>();
  const blockOf = new Map<number, (number | null)[]>();
  const late = lateAllocations(plan, values, before);
  const dying = new Map<number, number[]>();
  plan.steps.slice(before).forEach(({ op }, i) => {
    const step = before + i;
    for (const { output, bytes, diesAt, shared } of late.get(step) ?? []) {
      const { device } = values[op.outputs[output]!]!;
      const block = blocks.take(device, bytes);
      if (device.allocator.openRegion && !device.allocator.reserve) {
        const made = blockOf.get(step) ?? op.outputs.map(() => null);
        made[output] = block;
        blockOf.set(step, made);
      }
      if (diesAt !== undefined && !shared) dying.set(diesAt, [...(dying.get(diesAt) ?? []), block]);
    }
    const bytes = scratchBytesOf(values, op);
    if (bytes > 0) {
      const { device } = values[op.outputs[0] ?? op.inputs[0]!]!;
      scratch.set(device, Math.max(scratch.get(device) ?? 0, bytes));
    }
    for (const block of dying.get(step) ?? []) blocks.free(block);
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

/** Values without a place in the arena, by the step that makes them. */
function lateAllocations(
  { steps }: Plan,
  values: ValueTable,
  before: number,
): ReadonlyMap<number, readonly Allocation[]> {
  const late = new Map<number, Allocation[]>();
  for (const allocation of allocationsOf(steps, values)) {
    const { step, output, bytes } = allocation;
    if (step < before || bytes === 0) continue;
    const { op, places } = steps[step]!;
    if (op.op.kernel.kind === 'control' || typeof places?.[output] === 'number') continue;
    late.set(step, [...(late.get(step) ?? []), allocation]);
  }
  return late;
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

  /** Without a block of its own, a run neither opens nor closes it. */
  get isUsed(): boolean {
    return this.#arenaBytes > 0 || this.#late !== null;
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
      this.#blocks[i] = blockOn(device, bytes);
    }
    for (const [device, sizes] of this.#pooled) device.allocator.reserve!(sizes);
    // Freed immediately: kernels find it, as everything else has its block.
    for (const [device, bytes] of scratch) blockOn(device, bytes)?.close();
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

/** Null where the device reserves memory by size. */
function blockOn(device: Device, bytes: number): Region | null {
  return device.allocator.reserve ? null : regionOn(device, bytes);
}

/** Sizes of the blocks on devices that reserve memory by size. */
function pooledBlocks(blocks: readonly LateBlock[]): ReadonlyMap<Device, readonly number[]> {
  const sizes = new Map<Device, number[]>();
  for (const { device, bytes } of blocks) {
    if (!device.allocator.reserve) continue;
    sizes.set(device, [...(sizes.get(device) ?? []), bytes]);
  }
  return sizes;
}
