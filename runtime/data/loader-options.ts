/** DataLoader options and their validation. */

import { ArgumentError } from '../errors/errors.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { anyInteger, anyNumber, callback, flag, that } from '../options/option-kinds.ts';
import type { Sampler } from './samplers.ts';
import { type BatchDataset, type Dataset, type IterableDataset, isStream } from './source.ts';
import type { WorkerSource } from './worker-messages.ts';

export interface DataLoaderOptions {
  /** 1 by default, as in PyTorch. */
  readonly batchSize?: number;
  /** Whether each loop has a new order; false by default. */
  readonly shuffle?: boolean;
  /** Seed of the order; by default the library's `seed`. */
  readonly seed?: number;
  /** Drops the last batch if it isn't full. */
  readonly dropLast?: boolean;
  /** Selects the samples, instead of `shuffle`. */
  readonly sampler?: Sampler;
  /** Groups the samples, instead of `batchSize`, `shuffle`, `sampler` and `dropLast`. */
  readonly batchSampler?: Iterable<ArrayLike<number>> & { readonly length?: number };
  /** The number of threads that make batches for `for await`; 0 by default. They load `worker.module`. */
  readonly numWorkers?: number;
  readonly worker?: WorkerSource;
  /** The number of batches that each worker makes ahead, or without workers are read ahead; 2 by default. */
  readonly prefetchFactor?: number;
}

export interface CollateOption<Sample, Batch> {
  /** Combines samples into a batch; `defaultCollate` by default. */
  readonly collate?: (samples: Awaited<Sample>[]) => Batch;
}

/** The source of a loader's samples. */
export type Source = BatchDataset<unknown> | Dataset<unknown> | IterableDataset<unknown>;

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

// Counts are validated below, where each error has its own hint.
const loaderKinds: OptionKinds<DataLoaderOptions & CollateOption<unknown, unknown>> = {
  batchSize: anyNumber,
  shuffle: flag,
  seed: anyInteger,
  dropLast: flag,
  sampler: that('an iterable of sample numbers with a length', isObject),
  batchSampler: that('an iterable of arrays of sample numbers', isObject),
  numWorkers: anyNumber,
  worker: that('an object with the module that exports the data set', isObject),
  prefetchFactor: anyNumber,
  collate: callback,
};

/** Throws ArgumentError for an unknown option, an invalid value, or conflicting options. */
export function expectLoaderOptions(dataset: Source, options: DataLoaderOptions): void {
  expectOptions('DataLoader', options, loaderKinds);
  const { batchSize = 1, numWorkers = 0 } = options;
  expectCount('batch size', 'batchSize', batchSize, 1);
  expectCount('number of workers', 'numWorkers', numWorkers, 0);
  expectCount('number of batches', 'prefetchFactor', options.prefetchFactor ?? 2, 1);
  if (numWorkers > 0 && !options.worker) {
    throw new ArgumentError({
      what: "DataLoader: workers don't know the data set",
      given: `numWorkers = ${numWorkers} without \`worker\``,
      expected: '{ worker: { module } }: the module that exports the data set',
      remedy: "pass worker: { module: new URL('./dataset.ts', import.meta.url) }",
    });
  }
  if (isStream(dataset) && (options.shuffle || options.sampler || options.batchSampler)) {
    throw new ArgumentError({
      what: 'DataLoader: a stream has its own order',
      given: 'shuffle or a sampler, for an iterable data set',
      expected: 'a data set with length and get(index)',
      remedy: 'shuffle where the stream is made',
    });
  }
}

function expectCount(what: string, name: string, value: number, least: number): void {
  if (Number.isInteger(value) && value >= least) return;
  throw new ArgumentError({
    what: `DataLoader: not a ${what}`,
    given: `${name} = ${value}`,
    expected: `an integer, ${least} or more`,
    remedy: name === 'batchSize' ? 'pass a batchSize such as 64' : `pass another ${name}`,
  });
}

export function noLength(): ArgumentError {
  return new ArgumentError({
    what: 'DataLoader: a stream has no length',
    given: 'an iterable data set, or a batch sampler without length',
    expected: 'a data set with a length',
    remedy: 'count the batches while looping',
  });
}

export function asyncSamplesInSyncLoop(): ArgumentError {
  return new ArgumentError({
    what: 'DataLoader: asynchronous samples in a synchronous loop',
    given: 'a data set that returns promises, in an ordinary loop',
    expected: 'for await (using batch of loader)',
    remedy: 'loop with for await, or read the samples beforehand',
  });
}
