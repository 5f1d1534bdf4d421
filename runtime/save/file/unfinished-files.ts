/**
 * Files that are being written, under names of their own until they are renamed. A process that is killed meanwhile
 * leaves one behind, which a later write into its folder removes.
 */

const suffix = /\.[\da-f]{8}\.unfinished$/;

/** A writer that still runs has changed its file more recently than this many milliseconds ago. */
const abandonedAfter = 60 * 60 * 1000;

export const newSuffix = (): string => `.${crypto.randomUUID().slice(0, 8)}.unfinished`;

export const isUnfinished = (name: string): boolean => suffix.test(name);

/**
 * Whether a file was abandoned, by the times of its last change and of a file just written: both are of the file
 * system's clock, which may differ from the machine's.
 */
export const isAbandoned = (changed: { mtimeMs: number }, written: { mtimeMs: number }): boolean =>
  written.mtimeMs - changed.mtimeMs > abandonedAfter;
