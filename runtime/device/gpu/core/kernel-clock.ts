import type { KernelTiming } from '../../../profiler/spans.ts';

/** By value: WebGPU's globals for them don't exist everywhere. */
const usage = { mapRead: 1, copySource: 4, copyTarget: 8, queryResolve: 512 } as const;
const mapModeRead = 1;

/** Nanoseconds before and after a dispatch. */
const stampsPerDispatch = 2;
const stampBytes = 8;

/**
 * The GPU's own times of dispatches, while a profile is recorded: each has a pass of its own, around which the GPU
 * notes the time. They are read after the submit, in which nothing waits for them.
 */
export class KernelClock {
  readonly #device: GPUDevice;
  readonly #querySet: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  /** Dispatches of the batch that are timed. */
  #timings: KernelTiming[] = [];

  /** `mostDispatches`: of one batch. */
  constructor(device: GPUDevice, mostDispatches: number) {
    this.#device = device;
    const count = mostDispatches * stampsPerDispatch;
    this.#querySet = device.createQuerySet({ type: 'timestamp', count });
    const size = count * stampBytes;
    this.#resolved = device.createBuffer({ size, usage: usage.queryResolve | usage.copySource });
  }

  /** Where the next pass notes its times, which `timing` is told. */
  next(timing: KernelTiming): GPUComputePassDescriptor {
    const first = this.#timings.push(timing) * stampsPerDispatch - stampsPerDispatch;
    return {
      timestampWrites: {
        querySet: this.#querySet,
        beginningOfPassWriteIndex: first,
        endOfPassWriteIndex: first + 1,
      },
    };
  }

  /** Encodes that times are kept, after the last pass. Returns what reads them once that is submitted. */
  finish(encoder: GPUCommandEncoder): () => void {
    const timings = this.#timings;
    if (timings.length === 0) return () => {};
    this.#timings = [];
    const count = timings.length * stampsPerDispatch;
    const size = count * stampBytes;
    const staging = this.#device.createBuffer({ size, usage: usage.mapRead | usage.copyTarget });
    encoder.resolveQuerySet(this.#querySet, 0, count, this.#resolved, 0);
    encoder.copyBufferToBuffer(this.#resolved, 0, staging, 0, size);
    return () => void this.#read(staging, timings);
  }

  async #read(staging: GPUBuffer, timings: readonly KernelTiming[]): Promise<void> {
    try {
      await staging.mapAsync(mapModeRead);
      const stamps = new BigUint64Array(staging.getMappedRange());
      timings.forEach((timing, i) => {
        const [start, end] = [stamps[i * 2]!, stamps[i * 2 + 1]!];
        // Zeros where the submit failed; some drivers reset their clocks.
        const isTime = end > 0n && end >= start;
        timing.end(isTime ? Number(end - start) / 1e6 : null);
      });
    } catch {
      // The device was lost.
      for (const timing of timings) timing.end(null);
    } finally {
      staging.destroy();
    }
  }

  destroy(): void {
    this.#querySet.destroy();
    this.#resolved.destroy();
  }
}
