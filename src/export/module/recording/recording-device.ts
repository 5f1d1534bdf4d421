import { CpuDevice } from '../../../../runtime/device/cpu/cpu-device.ts';
import type { Launch } from '../../../../runtime/device/device.ts';
import type { Attrs, KernelOp } from '../../../../runtime/device/kernel-op.ts';
import type { TensorMeta } from '../../../../runtime/device/tensor-meta.ts';
import { ArgumentError } from '../../../../runtime/errors/errors.ts';
import { invariant } from '../../../../runtime/errors/invariant.ts';
import { type Allocator, alignedBytes } from '../../../../runtime/memory/allocator.ts';
import { MemoryCounter } from '../../../../runtime/memory/stats.ts';
import type { LiveRange } from '../../../7-plan/arena/layout.ts';
import { NotRecorded } from '../actions/actions.ts';
import { replacingKernels } from '../host/replacing-kernels.ts';

/** Assigns each allocation of a run the address returned by `place`, and records its live range. */
export class RecordingAllocator implements Allocator {
  readonly counter = new MemoryCounter('recording');
  readonly ranges: { bytes: number; from: number; to: number }[] = [];
  readonly #live = new Map<number, number>();
  readonly #place: (allocation: number, bytes: number) => number;
  #clock = 0;

  constructor(place: (allocation: number, bytes: number) => number) {
    this.#place = place;
  }

  alloc(bytes: number): number {
    if (bytes === 0) return 0;
    const size = alignedBytes(bytes);
    const number = this.ranges.length;
    this.ranges.push({ bytes: size, from: ++this.#clock, to: Number.NaN });
    const ptr = this.#place(number, size);
    invariant(!this.#live.has(ptr), 'two allocations at one address');
    this.#live.set(ptr, number);
    return ptr;
  }

  free(ptr: number, bytes: number): void {
    if (bytes === 0) return;
    const number = this.#live.get(ptr);
    invariant(number !== undefined, 'free of an address that is not allocated');
    this.#live.delete(ptr);
    this.ranges[number]!.to = this.#clock;
  }

  /** The allocations of the whole run; those still live at its end last until then. */
  get lives(): readonly LiveRange[] {
    return this.ranges.map(({ bytes, from, to }) => {
      return { bytes, from, to: Number.isNaN(to) ? this.#clock : to };
    });
  }

  freeMemory() {
    return { free: 0, largest: 0 };
  }
}

/** The CPU device while a program is recorded: its kernels are bound as usual, and record what they would do. */
export class RecordingDevice extends CpuDevice {
  override readonly allocator: RecordingAllocator;

  constructor(allocator: RecordingAllocator) {
    super('cpu');
    this.allocator = allocator;
  }

  override prepare(
    op: KernelOp,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
  ): Launch {
    try {
      const launch = super.prepare(this.#recordable(op), inputs, outputs, attrs);
      return (sources, targets, now) => {
        try {
          launch(sources, targets, now);
        } catch (error) {
          throw refused(error, op);
        }
      };
    } catch (error) {
      throw refused(error, op);
    }
  }

  /** Returns the op with a kernel that can be recorded. */
  #recordable(op: KernelOp): KernelOp {
    const { kernel } = op;
    if (kernel.kind === 'user') throw new NotRecorded('it is a kernel of the user');
    const onCpu = kernel.kind === 'named' && replacingKernels[kernel.name];
    return onCpu ? { ...op, kernel: { ...kernel, onCpu } } : op;
  }

  override poison(): void {}
}

function refused(error: unknown, { name }: KernelOp): unknown {
  if (!(error instanceof NotRecorded)) return error;
  return notInModule(name, `${error.message}: its kernel is in JavaScript`);
}

/** The error for an op, or another part of a program, that a module can't express. */
export function notInModule(what: string, given: string): ArgumentError {
  return new ArgumentError({
    what: `export: ${what} has no form in a module`,
    given,
    expected: 'generated kernels on tensors of known sizes',
    remedy:
      'run the saved program with load() of tostatic/load, or leave the op out of the function',
  });
}
