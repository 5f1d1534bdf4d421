/** What runs everywhere; `mnist.ts` reads files and is for Node only. */
export { type IdxArray, parseIdx } from './idx.ts';
export { type ImageBatch, ImageDataset, type ImageDatasetOptions } from './image-dataset.ts';
export { DataLoader, type DataLoaderOptions, type Dataset } from './loader.ts';
