/** The sources that a loader reads samples from. */

/** Samples by index. `for await` loops await promises. */
export interface Dataset<Sample> {
  readonly length: number;
  get(index: number): Sample;
}

/** A data set that makes batches itself, which is faster than sample by sample. */
export interface BatchDataset<Batch> {
  readonly length: number;
  /** Returns the samples as new tensors, owned by the caller. */
  batch(indices: Int32Array): Batch;
}

/** A stream of samples, possibly of unknown length. */
export type IterableDataset<Sample> = Iterable<Sample> | AsyncIterable<Sample>;

export function isStream(dataset: object): dataset is IterableDataset<unknown> {
  return Symbol.iterator in dataset || Symbol.asyncIterator in dataset;
}

/** Whether the data set makes batches. A `Subset` always has a `batch` method, so its `makesBatches` decides. */
export function makesBatches(dataset: object): dataset is BatchDataset<unknown> {
  return 'batch' in dataset && !('makesBatches' in dataset && dataset.makesBatches === false);
}
