import { currentDevice } from '../device/current.ts';
import { ArgumentError } from '../errors/errors.ts';
import { pauseDue } from '../memory/pressure.ts';
import { expectNoMore, shown } from '../options/expect-options.ts';
import { nextOffset } from '../random/seed.ts';
import { tensorsIn, tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { indicesOf } from './indices.ts';
import {
  asyncSamplesInSyncLoop,
  type CollateOption,
  type DataLoaderOptions,
  expectLoaderOptions,
  noLength,
  type Source,
} from './loader-options.ts';
import { shuffledOrder } from './shuffle.ts';
import {
  type BatchDataset,
  type Dataset,
  type IterableDataset,
  isStream,
  makesBatches,
} from './source.ts';
import { streamOf } from './streams.ts';
import { defaultCollate, fromHost } from './tensor-batch.ts';
import type { WorkerStart } from './worker-messages.ts';
import { fromWorkers } from './worker-pool.ts';

/**
 * Iterates over a data set in batches. If shuffled, each loop has a new order; the order of loop e depends only on
 * (seed, e). The caller owns and frees the batches:
 *
 *     for (using batch of loader) train(batch.images, batch.labels)
 *
 * (or `images.dispose(); labels.dispose()` at the end of the loop body). `for await` reads ahead, in other threads with
 * `numWorkers`; the order stays the same. If a loop ends early, only the batches that it yielded remain allocated. The
 * loader frees tensors in awaited samples; it doesn't own tensors in other samples.
 */
export class DataLoader<Batch> implements Iterable<Batch>, AsyncIterable<Batch> {
  readonly dataset: Source;
  readonly batchSize: number;
  readonly shuffle: boolean;
  readonly seed: number | null;
  readonly dropLast: boolean;
  /** The number of loops started; assign it to resume an interrupted run. */
  epoch = 0;
  readonly #options: DataLoaderOptions & CollateOption<unknown, unknown>;

  constructor(
    dataset: BatchDataset<Batch>,
    options?: DataLoaderOptions & { readonly collate?: never },
  );
  constructor(
    dataset: Dataset<Promise<unknown>> | Dataset<unknown> | IterableDataset<unknown>,
    options?: DataLoaderOptions & { readonly collate?: never },
  );
  constructor(
    dataset: Dataset<unknown> | IterableDataset<unknown>,
    // biome-ignore lint/suspicious/noExplicitAny: samples are what the data set returns
    options: DataLoaderOptions & { readonly collate: (samples: any[]) => Batch },
  );
  constructor(
    dataset: Source,
    options: DataLoaderOptions & CollateOption<never, Batch> = {},
    ...surplus: []
  ) {
    expectNoMore(new.target.name, surplus);
    if (typeof dataset !== 'object' || dataset === null) throw noDataset(dataset);
    this.dataset = countable(dataset);
    expectLoaderOptions(this.dataset, options);
    // Workers have the data set themselves.
    if (!options.numWorkers && !canBeRead(this.dataset)) throw noDataset(dataset);
    this.batchSize = options.batchSize ?? 1;
    this.shuffle = options.shuffle ?? false;
    this.seed = options.seed ?? null;
    this.dropLast = options.dropLast ?? false;
    this.#options = options as DataLoaderOptions & CollateOption<unknown, unknown>;
  }

  /** The number of batches per loop. */
  get length(): number {
    const { sampler, batchSampler } = this.#options;
    const samples = batchSampler ? batchSampler.length : (sampler ?? this.#countable()).length;
    if (samples === undefined) throw noLength();
    const batches = batchSampler ? samples : samples / this.batchSize;
    return this.dropLast ? Math.floor(batches) : Math.ceil(batches);
  }

  *[Symbol.iterator](): Generator<Batch, void, undefined> {
    if (isStream(this.dataset)) {
      if (!(Symbol.iterator in this.dataset)) throw asyncSamplesInSyncLoop();
      this.epoch++;
      yield* this.#fromStream(this.dataset[Symbol.iterator]());
      return;
    }
    for (const indices of this.#batches()) yield this.#batchOf(indices);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Batch, void, undefined> {
    for await (const batch of this.#awaited()) {
      yield batch;
      // The step that used the batch is over.
      await pauseDue(currentDevice().allocator.counter)?.();
    }
  }

  async *#awaited(): AsyncGenerator<Batch, void, undefined> {
    const { numWorkers = 0, prefetchFactor = 2 } = this.#options;
    if (numWorkers > 0) {
      yield* this.#fromWorkers(numWorkers, prefetchFactor);
      return;
    }
    if (isStream(this.dataset)) {
      this.epoch++;
      const groups = streamOf(this.dataset, this.batchSize, this.dropLast);
      for await (const samples of groups) yield this.#collated(samples);
      return;
    }
    if (this.#makesBatches()) {
      for (const indices of this.#batches()) yield this.#batchOf(indices);
      return;
    }
    yield* this.#readAhead(prefetchFactor);
  }

  *#fromStream(samples: Iterator<unknown>): Generator<Batch, void, undefined> {
    try {
      for (;;) {
        const batch = tidy(() => {
          const group = nextSamples(samples, this.batchSize);
          const over = group.length < (this.dropLast ? this.batchSize : 1);
          return over ? null : { batch: this.#collate(group) };
        });
        if (!batch) return;
        yield batch.batch;
      }
    } finally {
      samples.return?.();
    }
  }

  /** Prefetches samples of the next batches. */
  async *#readAhead(count: number): AsyncGenerator<Batch, void, undefined> {
    const dataset = this.dataset as Dataset<unknown>;
    const requested: Promise<unknown[]>[] = [];
    const groups = this.#batches();
    const requestNext = () => {
      const next = groups.next();
      if (next.done) return;
      const samples = Promise.all(Array.from(next.value, async (index) => dataset.get(index)));
      // An error is thrown when its batch is due.
      samples.catch(() => {});
      requested.push(samples);
    };
    try {
      for (let i = 0; i < count; i++) requestNext();
      for (let next = requested.shift(); next; next = requested.shift()) {
        const samples = await next;
        requestNext();
        yield this.#collated(samples);
      }
    } finally {
      for (const result of await Promise.allSettled(requested)) {
        if (result.status === 'fulfilled') dispose(result.value);
      }
    }
  }

  async *#fromWorkers(count: number, ahead: number): AsyncGenerator<Batch, void, undefined> {
    const { collate, worker } = this.#options;
    const stream = isStream(this.dataset);
    const starts = Array.from(
      { length: count },
      (_, id): WorkerStart => ({
        id,
        count,
        module: String(worker!.module),
        exportName: worker!.export ?? 'dataset',
        data: worker!.data,
        batchSize: this.batchSize,
        dropLast: this.dropLast,
        collates: !collate,
      }),
    );
    if (stream) this.epoch++;
    const batches = stream ? null : this.#batches();
    const options = { ahead, preload: (worker!.preload ?? []).map(String) };
    for await (const batch of fromWorkers(starts, batches, options)) {
      const tensors = fromHost(batch);
      yield collate ? this.#collated(tensors as unknown[]) : (tensors as Batch);
    }
  }

  #countable(): { readonly length: number } {
    if (isStream(this.dataset)) throw noLength();
    return this.dataset;
  }

  #makesBatches(): boolean {
    return !this.#options.collate && makesBatches(this.dataset);
  }

  #batchOf(indices: Int32Array): Batch {
    if (this.#makesBatches()) return (this.dataset as BatchDataset<Batch>).batch(indices);
    const dataset = this.dataset as Dataset<unknown>;
    return tidy(() => {
      const samples = Array.from(indices, (index) => dataset.get(index));
      if (samples.some((sample) => sample instanceof Promise)) throw asyncSamplesInSyncLoop();
      return this.#collate(samples);
    });
  }

  /** Collates samples created for the batch and frees tensors that are not part of it. */
  #collated(samples: readonly unknown[]): Batch {
    let kept = new Set<Tensor>();
    try {
      const batch = tidy(() => this.#collate(samples));
      kept = new Set(tensorsIn(batch));
      return batch;
    } finally {
      for (const tensor of tensorsIn(samples)) if (!kept.has(tensor)) tensor.dispose();
    }
  }

  #collate(samples: readonly unknown[]): Batch {
    const collate = this.#options.collate ?? defaultCollate;
    return collate([...samples]) as Batch;
  }

  *#batches(): Generator<Int32Array, void, undefined> {
    const { sampler, batchSampler } = this.#options;
    const epoch = this.epoch++;
    if (batchSampler) {
      for (const indices of batchSampler) yield this.#indices(indices);
      return;
    }
    const order = sampler ? this.#indices(sampler) : this.#order(epoch);
    const batches = order.length / this.batchSize;
    const count = this.dropLast ? Math.floor(batches) : Math.ceil(batches);
    for (let i = 0; i < count; i++) {
      yield order.subarray(i * this.batchSize, (i + 1) * this.batchSize);
    }
  }

  #indices(indices: Iterable<number> | ArrayLike<number>): Int32Array {
    return indicesOf('DataLoader', indices, this.#countable().length);
  }

  #order(epoch: number): Int32Array {
    const { length } = this.#countable();
    if (!this.shuffle) return Int32Array.from({ length }, (_, i) => i);
    if (this.seed !== null) return shuffledOrder(length, this.seed, epoch * length);
    const { seed, offset } = nextOffset([length]);
    return shuffledOrder(length, seed, offset);
  }
}

/** Takes the next `count` samples; fewer at the end of the stream. */
function nextSamples(samples: Iterator<unknown>, count: number): unknown[] {
  const group: unknown[] = [];
  while (group.length < count) {
    const next = samples.next();
    if (next.done) break;
    group.push(next.value);
  }
  return group;
}

/** Makes an array a data set, rather than a stream. */
function countable(dataset: Source): Source {
  if (!Array.isArray(dataset)) return dataset;
  const list: readonly unknown[] = dataset;
  return { length: list.length, get: (index: number) => list[index] };
}

function dispose(samples: readonly unknown[]): void {
  for (const tensor of tensorsIn(samples)) tensor.dispose();
}

const canBeRead = (dataset: Source): boolean =>
  isStream(dataset) || 'get' in dataset || 'batch' in dataset;

function noDataset(value: unknown): ArgumentError {
  return new ArgumentError({
    what: 'DataLoader: not a data set',
    given: shown(value),
    expected: 'an array, or an object with length and get() or batch(), or an iterable',
    remedy: 'new data.TensorDataset(inputs, labels) is one',
  });
}
