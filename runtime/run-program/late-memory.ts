/** Memory that a run allocates after its first write to the caller's memory; reserved before that write. */

import type { Device } from '../device/device.ts';
import { invariant } from '../errors/invariant.ts';
import type { Region } from '../memory/region.ts';
import { type Allocation, allocationsOf } from '../program/allocations.ts';
import type { Plan } from '../program/plan.ts';
import type { ProgramOp, ValueTable } from '../program/program.ts';
import { scratchBytesOf } from '../program/value-bytes.ts';
import { writtenInputs } from '../program/writes.ts';

/** The blocks that a run reserves, and the step before which it reserves them. */
interface LateMemory {
  readonly before: number;
  readonly blocks: readonly LateBlock[];
  /** The largest scratch memory of a kernel, per device. */
  readonly scratch: ReadonlyMap<Device, number>;
  /** The block of each output, by step from `before` on; null if the output takes none. */
  readonly blockOf: ReadonlyMap<number, readonly (number | null)[]>;
}

/** Bytes on a device, used by one value after another. */
interface LateBlock {
  readonly device: Device;
  readonly bytes: number;
}

/**
 * Returns the memory that the plan's values need after its first write to an input, so that a run that runs out of
 * memory fails before that write. Later values reuse blocks that the plan has freed. Null if nothing is written, or
 * nothing is allocated afterwards. The memory of control ops is data-dependent, so inputs written before one are copied
 * instead (`copiedInputs`).
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
        const stepBlocks = blockOf.get(step) ?? op.outputs.map(() => null);
        stepBlocks[output] = block;
        blockOf.set(step, stepBlocks);
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

/** Returns the first step that writes to an input, or −1. */
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

/** Returns the values outside the arena, by the step that allocates them. */
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

/** Reusable blocks by device and size. */
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

/** The memory of one run: the planned arena, and blocks reserved for late values. */
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

  /** Whether the run has an arena or blocks to open and close. */
  get isUsed(): boolean {
    return this.#arenaBytes > 0 || this.#late !== null;
  }

  /** Allocates the arena at the start of a run. Throws OutOfMemoryError. */
  open(): void {
    this.arena = this.#device ? regionOn(this.#device, this.#arenaBytes) : null;
  }

  /** Reserves the blocks before the first write. Throws OutOfMemoryError. */
  reserve(): void {
    const { blocks, scratch } = this.#late!;
    for (let i = 0; i < blocks.length; i++) {
      const { device, bytes } = blocks[i]!;
      this.#blocks[i] = blockOn(device, bytes);
    }
    for (const [device, sizes] of this.#pooled) device.allocator.reserve!(sizes);
    // Freed immediately: it is still free when a kernel needs it, because everything else has a block.
    for (const [device, bytes] of scratch) blockOn(device, bytes)?.close();
  }

  /** Returns a block for its next value. */
  block(number: number): Region {
    const block = this.#blocks[number];
    invariant(block?.isEmpty, 'a reserved block is not free');
    return block;
  }

  /** Closes the arena and the blocks; each is freed with the last value in it. */
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

/** Returns null if the device reserves memory by size. */
function blockOn(device: Device, bytes: number): Region | null {
  return device.allocator.reserve ? null : regionOn(device, bytes);
}

/** Returns the block sizes for devices that reserve memory by size. */
function pooledBlocks(blocks: readonly LateBlock[]): ReadonlyMap<Device, readonly number[]> {
  const sizes = new Map<Device, number[]>();
  for (const { device, bytes } of blocks) {
    if (!device.allocator.reserve) continue;
    sizes.set(device, [...(sizes.get(device) ?? []), bytes]);
  }
  return sizes;
}
