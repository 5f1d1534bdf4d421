/** Messages between loaders and their workers. */

/** The location of a worker's data set. */
export interface WorkerSource {
  /** A module that each worker loads, as a file URL: `new URL('./digits.ts', import.meta.url)`. */
  readonly module: URL | string;
  /**
   * Its export: a data set, or a function that makes one from `data` and the worker's number; `dataset`
   * by default.
   */
  readonly export?: string;
  /** The argument of that function; it must be cloneable between threads. */
  readonly data?: unknown;
  /** Modules that the worker loads first, as file URLs: one that registers a loader, for example. */
  readonly preload?: readonly (URL | string)[];
}

/** The number of the worker that the data set is for: a stream gives each worker its part. */
export interface WorkerNumber {
  readonly id: number;
  readonly count: number;
}

export interface WorkerStart extends WorkerNumber {
  readonly module: string;
  readonly exportName: string;
  readonly data: unknown;
  readonly batchSize: number;
  readonly dropLast: boolean;
  /** Whether samples are collated in the worker; otherwise each is sent unchanged. */
  readonly collates: boolean;
}

/** The next batch: of these samples, or of the stream. */
export interface Request {
  readonly indices: Int32Array | null;
}

export type Reply =
  | { readonly kind: 'batch'; readonly batch: unknown }
  /** The stream is over. */
  | { readonly kind: 'end' }
  | { readonly kind: 'error'; readonly message: string; readonly stack: string };
