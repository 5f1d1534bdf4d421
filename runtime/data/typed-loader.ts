/** `DataLoader`, with the type of batches that follows from the type of samples. */

import type { TypedArray } from '../spec/dtype.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { Subset } from './dataset.ts';
import { DataLoader as Loader } from './loader.ts';
import type { DataLoaderOptions, Source } from './loader-options.ts';
import type { BatchDataset, Dataset, IterableDataset } from './source.ts';

/** Batches of `defaultCollate`: a tensor for each number, tensor or typed array, structured as the samples. */
export type Collated<Sample> = unknown extends Sample
  ? unknown
  : Sample extends Tensor | TypedArray | number | boolean
    ? Tensor
    : Sample extends string
      ? string[]
      : { -readonly [K in keyof Sample]: Collated<Sample[K]> };

/** Values that `using` frees: a tensor, or an array or object of tensors. */
type Freed<Batch> = Batch extends string[] ? Batch : Batch & Disposable;

type Batches<Sample> = Freed<Collated<Awaited<Sample>>>;

type Uncollated = DataLoaderOptions & { readonly collate?: never };

/** Iterates over a data set in batches. If shuffled, each loop has a new order. */
export interface DataLoader<Batch> extends Iterable<Batch>, AsyncIterable<Batch> {
  readonly dataset: Source;
  readonly batchSize: number;
  readonly shuffle: boolean;
  readonly seed: number | null;
  readonly dropLast: boolean;
  /** The number of loops started; assign it to resume an interrupted run. */
  epoch: number;
  /** The number of batches per loop. */
  readonly length: number;
  [Symbol.iterator](): Generator<Batch, void, undefined>;
  [Symbol.asyncIterator](): AsyncGenerator<Batch, void, undefined>;
}

/**
 * The constructor. Where the type of batches is computed from that of samples, it has two type parameters, so that
 * `new DataLoader<Batch>(…)` and `extends DataLoader<Batch>` choose another one.
 */
export interface DataLoaderConstructor {
  readonly prototype: DataLoader<unknown>;
  new <Sample, Batch>(
    dataset: Subset<Sample, Batch>,
    options?: Uncollated,
  ): DataLoader<[Batch] extends [never] ? Batches<Sample> : Batch>;
  new <Batch>(dataset: BatchDataset<Batch>, options?: Uncollated): DataLoader<Batch>;
  new <Sample, Own extends Dataset<Sample>>(
    dataset: Own & Dataset<Sample>,
    options?: Uncollated,
  ): DataLoader<Batches<Sample>>;
  new <Sample, Own extends IterableDataset<Sample>>(
    dataset: Own & IterableDataset<Sample>,
    options?: Uncollated,
  ): DataLoader<Batches<Sample>>;
  new <Batch>(
    dataset: Dataset<unknown> | IterableDataset<unknown>,
    // biome-ignore lint/suspicious/noExplicitAny: samples are what the data set returns
    options: DataLoaderOptions & { readonly collate: (samples: any[]) => Batch },
  ): DataLoader<Batch>;
  new <Batch>(
    dataset: Dataset<Promise<unknown>> | Dataset<unknown> | IterableDataset<unknown>,
    options?: Uncollated,
  ): DataLoader<Batch>;
}

/** Iterates over a data set in batches, typed by its samples. */
export const DataLoader: DataLoaderConstructor = Loader;
