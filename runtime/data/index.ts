/** Exports that run everywhere; `mnist.ts` reads files and is for Node only. */
export { ConcatDataset, randomSplit, StackDataset, Subset, TensorDataset } from './dataset.ts';
export { type IdxArray, parseIdx } from './idx.ts';
export { type ImageBatch, ImageDataset, type ImageDatasetOptions } from './image-dataset.ts';

export type { CollateOption, DataLoaderOptions, Source } from './loader-options.ts';
export {
  BatchSampler,
  RandomSampler,
  type RandomSamplerOptions,
  type Sampler,
  SequentialSampler,
  SubsetRandomSampler,
  WeightedRandomSampler,
} from './samplers.ts';
export type { BatchDataset, Dataset, IterableDataset } from './source.ts';
export { defaultCollate } from './tensor-batch.ts';
export { type Collated, DataLoader, type DataLoaderConstructor } from './typed-loader.ts';
export type { WorkerNumber, WorkerSource } from './worker-messages.ts';
