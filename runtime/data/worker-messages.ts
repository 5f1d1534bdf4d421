/** Messages between loaders and their workers. */

/** The location of a worker's data set. */
export interface WorkerSource {
  /** A module that each worker loads, as a file URL: `new URL('./digits.ts', import.meta.url)`. */
  readonly module: URL | string;
  /** The module's export (`dataset` by default): a data set, or a function of `data` and the worker's number. */
  readonly export?: string;
  /** The argument of that function; must be structured-cloneable. */
  readonly data?: unknown;
  /** Modules that the worker loads first, as file URLs, such as one that registers a loader. */
  readonly preload?: readonly (URL | string)[];
}

/** The number of the worker that uses the data set, so that a stream can be divided among workers. */
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
  /** Whether the worker collates samples; otherwise each is sent unchanged. */
  readonly collates: boolean;
}

/** Requests the next batch: the given samples, or the next ones of the stream. */
export interface Request {
  readonly indices: Int32Array | null;
}

export type Reply =
  | { readonly kind: 'batch'; readonly batch: unknown }
  /** The stream has ended. */
  | { readonly kind: 'end' }
  | { readonly kind: 'error'; readonly message: string; readonly stack: string };
