import type { PoolBuffer } from './buffer-pool.ts';
import { runError } from './gpu-errors.ts';
import { missingOf } from './missing-memory.ts';

/** Errors that WebGPU reports asynchronously; the next read throws the first one. */
export class SubmitReports {
  #first: string | null = null;
  /** Submits whose success WebGPU has yet to report. */
  readonly #pending = new Set<Promise<void>>();

  note(message: string): void {
    this.#first ??= message;
  }

  /** Drops reports that only repeat another error. */
  forget(): void {
    this.#first = null;
  }

  /** Records a submit's error, unless it only repeats that one of its buffers could not be created. */
  await(scope: Promise<GPUError | null>, buffers: readonly PoolBuffer[]): void {
    const report = this.#noteUnlessMissing(scope, buffers);
    this.#pending.add(report);
    void report.then(() => this.#pending.delete(report));
  }

  async #noteUnlessMissing(
    scope: Promise<GPUError | null>,
    buffers: readonly PoolBuffer[],
  ): Promise<void> {
    // A lost device reports no errors.
    const error = await scope.catch(() => null);
    await Promise.all(buffers.map(({ checked }) => checked));
    if (error && !buffers.some(({ missing }) => missing)) this.note(error.message);
  }

  async settled(): Promise<void> {
    await Promise.all(this.#pending);
  }

  /**
   * Throws the error of a buffer that could not be created, or was computed from one that couldn't: reports about
   * work with it only repeat that error.
   */
  expectPresent(buffer: PoolBuffer): void {
    const missing = missingOf(buffer);
    if (!missing) return;
    this.forget();
    throw missing;
  }

  /** Throws reported errors as an error of the reading op. */
  tell(op: string): void {
    const reported = this.#first;
    this.forget();
    if (reported !== null) throw runError(op, reported);
  }
}
