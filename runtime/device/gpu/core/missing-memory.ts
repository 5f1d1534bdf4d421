import type { CheckedHandle, PoolBuffer } from './buffer-pool.ts';

/** Returns the error if a buffer has no memory, or was computed from one without; null if no such error is known. */
export function missingOf<H extends CheckedHandle>({
  missing,
  sources,
}: PoolBuffer<H>): Error | null {
  if (missing || sources.length === 0) return missing;
  return sources.find((source) => source.missing)?.missing ?? null;
}

/** Returns the error if a buffer has no valid contents; null if it has. */
export function failureOf<H extends CheckedHandle>(buffer: PoolBuffer<H>): Error | null {
  return buffer.failure ?? missingOf(buffer);
}

/**
 * Records the unconfirmed buffers that the `writes` were computed from: if they have no memory, WebGPU drops such work
 * and reports it later. Old contents of `replaced` buffers no longer matter.
 */
export function noteSources<H extends CheckedHandle>(
  reads: readonly PoolBuffer<H>[],
  writes: readonly PoolBuffer<H>[],
  replaced: readonly PoolBuffer<H>[],
): void {
  if (reads.every(isSettled) && writes.every(isSettled)) return;
  const open = openSources([...reads, ...writes.filter(({ unconfirmed }) => unconfirmed)]);
  for (const buffer of writes) {
    const kept = replaced.includes(buffer) ? [] : openSources([buffer]);
    buffer.sources = [...new Set([...open, ...kept])];
  }
}

function isSettled<H extends CheckedHandle>({ unconfirmed, sources }: PoolBuffer<H>): boolean {
  return !unconfirmed && sources.length === 0;
}

function openSources<H extends CheckedHandle>(buffers: readonly PoolBuffer<H>[]): PoolBuffer<H>[] {
  const all = buffers.flatMap((buffer) => [buffer, ...(buffer.sources as PoolBuffer<H>[])]);
  return all.filter(({ unconfirmed, missing }) => unconfirmed || missing);
}
