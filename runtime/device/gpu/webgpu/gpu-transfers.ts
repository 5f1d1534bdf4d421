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
import { type ReadBuffer, ReadBuffers } from './read-buffers.ts';

const wordBytes = 4;

/** By value, because WebGPU's global doesn't exist everywhere. */
const mapModeRead = 1;

/** Device state that transfers share with kernels: one queue, one batch of commands, the failures of buffers. */
interface Lane {
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

/** Copies between buffers, and between buffers and JavaScript, in order with all other issued work. */
export class GpuTransfers {
  readonly #lane: Lane;
  /** Pending reads. */
  readonly #reads = new Set<Promise<Words>>();
  readonly #readBuffers: ReadBuffers;

  constructor(lane: Lane) {
    this.#lane = lane;
    this.#readBuffers = new ReadBuffers(lane.backend.device);
  }

  /** Destroys the buffers that were kept for further reads. */
  destroy(): void {
    this.#readBuffers.destroy();
  }

  /** Resolves when pending reads have ended, with or without a result. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#reads);
  }

  /**
   * Computes an op on the CPU: previously issued work completes and is read, later work waits. An error of
   * `compute` invalidates the buffers to be written.
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
        return copyingAsync(this.#lane.name, bytes, read);
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

  /** The queue writes immediately, so previously encoded work must be submitted first. */
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
    const reading = copyingAsync(this.#lane.name, bytes, read);
    this.#reads.add(reading);
    const done = () => this.#reads.delete(reading);
    reading.then(done, done);
    return reading;
  }

  async #map(from: WordSpan, op: string): Promise<Words> {
    const { buffer, count } = from;
    const { reports } = this.#lane;
    const bytes = count * wordBytes;
    const target = this.#readBuffers.take(bytes);
    const mapped = target.buffer;
    let isDone = false;
    try {
      this.#copyOut(from, target);
      await mapped.mapAsync(mapModeRead, 0, bytes);
      await reports.settled();
      reports.expectPresent(buffer);
      const values = new Uint32Array(mapped.getMappedRange(0, bytes).slice(0));
      mapped.unmap();
      reports.tell(op);
      isDone = true;
      return values;
    } catch (cause) {
      const lost = this.#lane.lost();
      if (lost) throw lostError(op, lost);
      reports.expectPresent(buffer);
      reports.tell(op);
      throw cause instanceof DeviceError ? cause : runError(op, cause);
    } finally {
      if (isDone) this.#readBuffers.release(target);
      else mapped.destroy();
    }
  }

  /** Submits the copy of a span with the commands before it, or separately if there may be no memory for its target. */
  #copyOut(from: WordSpan, { buffer, isConfirmed }: ReadBuffer): void {
    const { batch } = this.#lane;
    if (!isConfirmed) batch.flush();
    const source = from.buffer;
    const bytes = from.count * wordBytes;
    this.#lane.encode([source], () => batch.copy(source.buffer, byteOf(from), buffer, 0, bytes));
    batch.flush();
  }
}

/** Returns the offset in the device's buffer, in bytes. */
function byteOf({ buffer, first }: WordPlace): number {
  return buffer.start + first * wordBytes;
}

/** Notes an upload: if it covers the whole buffer, its previous state doesn't matter. */
function noteUpload({ byteLength }: Words, { buffer }: WordPlace): void {
  if (byteLength < buffer.used) return;
  buffer.failure = null;
  noteSources([], [buffer], [buffer]);
}
