import type { KernelTiming } from '../../../profiler/spans.ts';

/** Constants by value, because WebGPU's globals don't exist everywhere. */
const usage = { mapRead: 1, copySource: 4, copyTarget: 8, queryResolve: 512 } as const;
const mapModeRead = 1;

/** Nanoseconds before and after a dispatch. */
const stampsPerDispatch = 2;
const stampBytes = 8;

/**
 * Measures dispatches by the GPU's clock while a profile is recorded: each dispatch has its own pass with
 * timestamps. They are read asynchronously after the submit.
 */
export class KernelClock {
  readonly #device: GPUDevice;
  readonly #querySet: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  /** The timed dispatches of the batch. */
  #timings: KernelTiming[] = [];

  /** `mostDispatches` is the limit per batch. */
  constructor(device: GPUDevice, mostDispatches: number) {
    this.#device = device;
    const count = mostDispatches * stampsPerDispatch;
    this.#querySet = device.createQuerySet({ type: 'timestamp', count });
    const size = count * stampBytes;
    this.#resolved = device.createBuffer({ size, usage: usage.queryResolve | usage.copySource });
  }

  /** Returns the descriptor of the next pass, whose time is reported to `timing`. */
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

  /** Encodes the resolution of timestamps after the last pass. Returns a function that reads them after the submit. */
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
        // Timestamps are zero if the submit failed, and some drivers reset their clocks.
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
