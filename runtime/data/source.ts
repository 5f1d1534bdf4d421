/** The source from which a loader reads samples. */

/** Samples by number. A promise is awaited by loops with `for await`. */
export interface Dataset<Sample> {
  readonly length: number;
  get(index: number): Sample;
}

/** Makes batches itself, faster than sample by sample. */
export interface BatchDataset<Batch> {
  readonly length: number;
  /** The samples as new tensors, which the caller disposes. */
  batch(indices: Int32Array): Batch;
}

/** Samples one after the other: a stream, of which the length may not be known. */
export type IterableDataset<Sample> = Iterable<Sample> | AsyncIterable<Sample>;

export function isStream(dataset: object): dataset is IterableDataset<unknown> {
  return Symbol.iterator in dataset || Symbol.asyncIterator in dataset;
}

/** A `Subset` has the method whether or not its own data set makes batches. */
export function makesBatches(dataset: object): dataset is BatchDataset<unknown> {
  return 'batch' in dataset && !('makesBatches' in dataset && dataset.makesBatches === false);
}
