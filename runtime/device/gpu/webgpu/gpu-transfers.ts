import { DeviceError } from '../../../errors/errors.ts';
import { events } from '../../../memory/events.ts';
import { copying, copyingAsync } from '../../../profiler/copying.ts';
import type { PoolBuffer } from '../core/buffer-pool.ts';
import type { CommandBatch } from '../core/command-batch.ts';
import type { HostRun, WordPlace, WordSpan } from '../core/device-core.ts';
import type { Words } from '../core/element-storage.ts';
import { lostError, runError } from '../core/gpu-errors.ts';
import type { IssueQueue } from '../core/issue-queue.ts';
import { failureOf, noteSources } from '../core/missing-memory.ts';
import type { SubmitReports } from '../core/submit-reports.ts';
import type { GpuJsBackend } from './gpujs.ts';

const wordBytes = 4;

/** By value: WebGPU's global for it does not exist everywhere. */
const mapModeRead = 1;

/** The state of the device that transfers share with kernels: one queue, one batch of commands, the failures of buffers. */
export interface Lane {
  /** The device's name in events and the profiler. */
  readonly name: string;
  readonly backend: GpuJsBackend;
  readonly queue: IssueQueue;
  readonly batch: CommandBatch;
  readonly reports: SubmitReports;
  /** Adds commands that use these buffers to the batch. */
  encode(buffers: readonly PoolBuffer[], encode: () => void): void;
  fail(buffer: PoolBuffer, failure: Error): void;
  lost(): GPUDeviceLostInfo | null;
}

/** Copies between buffers, and between these and the host, in the order of everything else that was issued. */
export class GpuTransfers {
  readonly #lane: Lane;
  /** Reads in progress. */
  readonly #reads = new Set<Promise<Words>>();

  constructor(lane: Lane) {
    this.#lane = lane;
  }

  /** Resolves when the reads in progress have ended, with or without a result. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#reads);
  }

  /**
   * Lets the host compute what the GPU can't: what was issued before is read, what is issued later waits.
   * An error of `compute` spoils what would have been written.
   */
  computeOnHost(run: HostRun): void {
    let ready: Promise<void> | null = null;
    let results: readonly Words[] = [];
    let failure: Error | null = null;
    const compute = async () => {
      try {
        results = run.compute(await this.#readAll(run));
      } catch (cause) {
        failure = cause instanceof Error ? cause : runError(run.op, cause);
      }
    };
    this.#lane.queue.issue({
      waitsFor: () => {
        ready ??= compute();
        return ready;
      },
      run: () => {
        run.writes.forEach((place, i) => {
          if (failure) this.#lane.fail(place.buffer, failure);
          else this.#writeNow(results[i]!, place);
        });
      },
    });
  }

  #readAll({ op, reads }: HostRun): Promise<Words[]> {
    return Promise.all(
      reads.map((span) => {
        const failure = failureOf(span.buffer);
        if (failure) throw failure;
        const bytes = span.count * wordBytes;
        events.copy(this.#lane.name, 'host', bytes);
        const read = () => this.#map(span, op);
        return copyingAsync(this.#lane.name, 'host', bytes, read);
      }),
    );
  }

  #writeNow(values: Words, to: WordPlace): void {
    if (values.length === 0) return;
    events.copy('host', this.#lane.name, values.byteLength);
    copying('host', this.#lane.name, values.byteLength, () => {
      this.#upload(values, to);
    });
    noteUpload(values, to);
  }

  /** The queue writes immediately: what was encoded before must be submitted before. */
  #upload(values: Words, { buffer, first }: WordPlace): void {
    this.#lane.batch.flush();
    this.#lane.backend.device.queue.writeBuffer(buffer.buffer, byteOf({ buffer, first }), values);
  }

  /** Copies words between two buffers. */
  copy(from: WordSpan, to: WordPlace): void {
    this.#lane.queue.issueNow(() => {
      const failure = failureOf(from.buffer);
      if (failure) {
        this.#lane.fail(to.buffer, failure);
        return;
      }
      if (to.buffer.missing) return;
      const bytes = from.count * wordBytes;
      this.#lane.encode([from.buffer, to.buffer], () => {
        this.#lane.batch.copy(
          from.buffer.buffer,
          byteOf(from),
          to.buffer.buffer,
          byteOf(to),
          bytes,
        );
      });
      const isWhole = bytes >= to.buffer.used;
      noteSources([from.buffer], [to.buffer], isWhole ? [to.buffer] : []);
      if (isWhole) to.buffer.failure = null;
    });
  }

  write(data: Words, to: WordPlace, kept: boolean): void {
    events.copy('host', this.#lane.name, data.byteLength);
    const write = (values: Words) => {
      this.#upload(values, to);
      noteUpload(values, to);
    };
    copying('host', this.#lane.name, data.byteLength, () => {
      const values = kept || !this.#lane.queue.busy ? data : data.slice();
      this.#lane.queue.issueNow(() => write(values));
    });
  }

  read(from: WordSpan, op: string): Promise<Words> {
    const bytes = from.count * wordBytes;
    events.copy(this.#lane.name, 'host', bytes);
    const read = () =>
      new Promise<Words>((resolve, reject) => {
        this.#lane.queue.issueNow(() => {
          const failure = failureOf(from.buffer);
          if (failure) reject(failure);
          else this.#map(from, op).then(resolve, reject);
        });
      });
    const reading = copyingAsync(this.#lane.name, 'host', bytes, read);
    this.#reads.add(reading);
    const done = () => this.#reads.delete(reading);
    reading.then(done, done);
    return reading;
  }

  async #map({ buffer, first, count }: WordSpan, op: string): Promise<Words> {
    const { device } = this.#lane.backend;
    const bytes = count * wordBytes;
    const staging = this.#lane.backend.createReadBuffer(bytes);
    try {
      // By itself: there may be no memory for the staging buffer.
      this.#lane.batch.flush();
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(buffer.buffer, byteOf({ buffer, first }), staging, 0, bytes);
      device.queue.submit([encoder.finish()]);
      await staging.mapAsync(mapModeRead);
      await this.#lane.reports.settled();
      this.#lane.reports.expectThere(buffer);
      const values = new Uint32Array(staging.getMappedRange().slice(0));
      staging.unmap();
      this.#lane.reports.tell(op);
      return values;
    } catch (cause) {
      const lost = this.#lane.lost();
      if (lost) throw lostError(op, lost);
      this.#lane.reports.expectThere(buffer);
      this.#lane.reports.tell(op);
      throw cause instanceof DeviceError ? cause : runError(op, cause);
    } finally {
      staging.destroy();
    }
  }
}

/** Where it is in the device's buffer. */
function byteOf({ buffer, first }: WordPlace): number {
  return buffer.start + first * wordBytes;
}

/** Nothing remains of what a buffer held before, if all of it is written. */
function noteUpload({ byteLength }: Words, { buffer }: WordPlace): void {
  if (byteLength < buffer.used) return;
  buffer.failure = null;
  noteSources([], [buffer], [buffer]);
}
