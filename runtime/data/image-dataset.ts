import { DataError } from '../errors/errors.ts';
import { tensor } from '../ops/core/create.ts';
import {
  expectArguments,
  expectNoMore,
  expectOptions,
  type OptionKinds,
} from '../options/expect-options.ts';
import { anyNumber, byteArray, count } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { indicesOf } from './indices.ts';
import type { BatchDataset } from './source.ts';

/** One batch; `using` or `dispose` frees both tensors. */
export interface ImageBatch {
  /** float32 [n, 1, height, width], normalized. */
  readonly images: Tensor;
  /** int32 [n] */
  readonly labels: Tensor;
  [Symbol.dispose](): void;
}

export interface ImageDatasetOptions {
  /** Rows of an image, in pixels. */
  readonly height: number;
  /** Columns of an image, in pixels. */
  readonly width: number;
  /** Mean and standard deviation of the pixels in [0, 1]; images are normalized to 0 and 1. */
  readonly mean: number;
  readonly std: number;
}

const imageKinds: OptionKinds<ImageDatasetOptions> = {
  height: count(1),
  width: count(1),
  mean: anyNumber,
  std: anyNumber,
};

/** MNIST's size and statistics. */
const mnistOptions: ImageDatasetOptions = { height: 28, width: 28, mean: 0.1307, std: 0.3081 };

/** Grayscale images of one size, stored as bytes, with one class each. */
export class ImageDataset implements BatchDataset<ImageBatch> {
  /** length · height · width bytes. */
  readonly images: Uint8Array;
  readonly labels: Uint8Array;
  readonly options: ImageDatasetOptions;
  /** The normalized value of each byte. */
  readonly #values: Float32Array;

  constructor(
    images: Uint8Array,
    labels: Uint8Array,
    options: ImageDatasetOptions = mnistOptions,
    ...surplus: []
  ) {
    expectNoMore(new.target.name, surplus);
    expectArguments('ImageDataset', { images, labels }, { images: byteArray, labels: byteArray });
    expectOptions('ImageDataset', options, imageKinds);
    const { height, width, mean, std } = options;
    if (images.length !== labels.length * height * width) {
      throw new DataError({
        what: "images and labels don't fit",
        given: `${images.length} bytes of images, ${labels.length} labels`,
        expected: `${height}·${width} bytes per label`,
        remedy: 'pass the images and labels of the same set',
      });
    }
    this.images = images;
    this.labels = labels;
    this.options = options;
    this.#values = Float32Array.from({ length: 256 }, (_, byte) => (byte / 255 - mean) / std);
  }

  get length(): number {
    return this.labels.length;
  }

  /** Returns new tensors on the current device, owned by the caller. */
  batch(samples: ArrayLike<number>): ImageBatch {
    const indices = indicesOf('ImageDataset', samples, this.length);
    const { height, width } = this.options;
    const pixels = height * width;
    const values = new Float32Array(indices.length * pixels);
    indices.forEach((index, row) => {
      const from = index * pixels;
      const to = row * pixels;
      for (let i = 0; i < pixels; i++) values[to + i] = this.#values[this.images[from + i]!]!;
    });
    const images = tensor(values, { shape: [indices.length, 1, height, width] });
    const labels = tensor(Int32Array.from(indices, (index) => this.labels[index]!));
    return {
      images,
      labels,
      [Symbol.dispose]: () => {
        images.dispose();
        labels.dispose();
      },
    };
  }
}
