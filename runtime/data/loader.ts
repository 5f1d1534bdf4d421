import { ArgumentError } from '../errors/errors.ts';
import { nextOffset } from '../random/seed.ts';
import { shuffledOrder } from './shuffle.ts';

/** Samples by number, in batches. */
export interface Dataset<Batch> {
  readonly length: number;
  /** The samples as new tensors, which the caller disposes. */
  batch(indices: Int32Array): Batch;
}

export interface DataLoaderOptions {
  /** 1 when left out, as in PyTorch. */
  readonly batchSize?: number;
  readonly shuffle?: boolean;
  /** Of the order; when left out it follows the library's `seed`. */
  readonly seed?: number;
  /** Leaves out a last batch that isn't full. */
  readonly dropLast?: boolean;
}

/**
 * A data set in batches, once per loop, in another order each time when shuffled: the order of loop
 * number e depends on (seed, e) alone. Batches belong to the caller, who gives each one back:
 *
 *     for (using batch of loader) train(batch.images, batch.labels)
 *
 * (or `images.dispose(); labels.dispose()` at the end of the loop's body).
 */
export class DataLoader<Batch> implements Iterable<Batch> {
  readonly dataset: Dataset<Batch>;
  readonly batchSize: number;
  readonly shuffle: boolean;
  readonly seed: number | null;
  readonly dropLast: boolean;
  /** Loops begun; assign to it to continue a run that was stopped. */
  epoch = 0;

  constructor(dataset: Dataset<Batch>, options: DataLoaderOptions = {}) {
    const { batchSize = 1 } = options;
    if (!Number.isInteger(batchSize) || batchSize < 1) {
      throw new ArgumentError({
        what: 'DataLoader: not a batch size',
        given: `batchSize = ${batchSize}`,
        expected: 'an integer, 1 or more',
        remedy: 'pass a batchSize such as 64',
      });
    }
    this.dataset = dataset;
    this.batchSize = batchSize;
    this.shuffle = options.shuffle ?? false;
    this.seed = options.seed ?? null;
    this.dropLast = options.dropLast ?? false;
  }

  /** Number of batches of one loop. */
  get length(): number {
    const batches = this.dataset.length / this.batchSize;
    return this.dropLast ? Math.floor(batches) : Math.ceil(batches);
  }

  *[Symbol.iterator](): Generator<Batch, void, undefined> {
    const order = this.#order(this.epoch++);
    for (let i = 0; i < this.length; i++) {
      yield this.dataset.batch(order.subarray(i * this.batchSize, (i + 1) * this.batchSize));
    }
  }

  #order(epoch: number): Int32Array {
    const { length } = this.dataset;
    if (!this.shuffle) return Int32Array.from({ length }, (_, i) => i);
    if (this.seed !== null) return shuffledOrder(length, this.seed, epoch * length);
    const { seed, offset } = nextOffset([length]);
    return shuffledOrder(length, seed, offset);
  }
}
