/** Data sets: collections of samples. */

import { deviceGuard } from '../device/current.ts';
import { formatSpec } from '../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { argumentsOf } from '../functional/arguments-of.ts';
import { tensor } from '../ops/core/create.ts';
import { indexSelect } from '../ops/indexing/indexing.ts';
import { select } from '../ops/movement/movement.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { expectArguments, expectNoMore } from '../options/expect-options.ts';
import { anObject, anyInteger, anyNumber, arrayOf, withLength } from '../options/option-kinds.ts';
import { nextOffset } from '../random/seed.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { disposable } from './collate.ts';
import { indicesOf } from './indices.ts';
import { shuffledOrder } from './shuffle.ts';
import { type BatchDataset, type Dataset, makesBatches } from './source.ts';

/** Rows of tensors with equal row counts: sample i consists of views of row i of each tensor. */
export class TensorDataset<T extends readonly Tensor[] = readonly Tensor[]>
  implements Dataset<T>, BatchDataset<T & Disposable>
{
  readonly tensors: T;

  constructor(...tensors: T) {
    expectTensors('TensorDataset', ...tensors);
    const rows = new Set(tensors.map(({ shape }) => shape[0]));
    if (rows.size !== 1 || rows.has(undefined)) {
      throw new ShapeError({
        what: 'TensorDataset: not the same number of samples',
        given: tensors.map((each) => formatSpec(each)).join(', ') || 'no tensors',
        expected: 'tensors with equally many rows',
        remedy: 'the first dimension counts the samples',
      });
    }
    this.tensors = tensors;
  }

  get length(): number {
    return this.tensors[0]!.shape[0]!;
  }

  get(index: number): T {
    return this.tensors.map((each) => select(each, 0, index)) as unknown as T;
  }

  batch(indices: ArrayLike<number>): T & Disposable {
    const those = indicesOf('TensorDataset', indices, this.length);
    const rows = tidy(() =>
      this.tensors.map((each) => {
        const index = deviceGuard(each.device, () => tensor(those));
        return indexSelect(each, 0, index);
      }),
    );
    return disposable(rows as unknown as T);
  }
}

/** Selected samples of another data set, in a given order. */
export class Subset<Sample, Batch = never> implements Dataset<Sample>, BatchDataset<Batch> {
  readonly dataset: Dataset<Sample> | BatchDataset<Batch>;
  readonly indices: Int32Array;

  constructor(
    dataset: Dataset<Sample> | BatchDataset<Batch>,
    indices: ArrayLike<number>,
    ...surplus: []
  ) {
    expectNoMore(new.target.name, surplus);
    expectArguments('Subset', { dataset, indices }, { dataset: withLength, indices: withLength });
    this.dataset = dataset;
    this.indices = indicesOf('Subset', indices, dataset.length);
  }

  get length(): number {
    return this.indices.length;
  }

  get(index: number): Sample {
    return (this.dataset as Dataset<Sample>).get(this.indices[index]!);
  }

  batch(indices: ArrayLike<number>): Batch {
    const checked = indicesOf('Subset', indices, this.length);
    return (this.dataset as BatchDataset<Batch>).batch(checked.map((i) => this.indices[i]!));
  }

  /** Whether the underlying data set makes batches itself. */
  get makesBatches(): boolean {
    return makesBatches(this.dataset);
  }
}

type Samples<D> = {
  readonly [Key in keyof D]: D[Key] extends Dataset<infer Sample> ? Sample : never;
};

/** Data sets of equal lengths side by side: a sample has one of each, in an array or by name. */
export class StackDataset<
  D extends readonly Dataset<unknown>[] | Readonly<Record<string, Dataset<unknown>>>,
> implements Dataset<Samples<D>>
{
  readonly datasets: D;
  readonly length: number;

  constructor(datasets: D, ...surplus: []) {
    expectNoMore(new.target.name, surplus);
    expectArguments('StackDataset', { datasets }, { datasets: anObject });
    const all: readonly Dataset<unknown>[] = Object.values(datasets);
    expectArguments('StackDataset', { datasets: all }, { datasets: arrayOf(withLength) });
    const lengths = new Set(all.map(({ length }) => length));
    if (lengths.size !== 1) {
      throw new ShapeError({
        what: 'StackDataset: not the same number of samples',
        given: all.length === 0 ? 'no data sets' : `lengths ${[...lengths].join(', ')}`,
        expected: 'data sets of one length',
        remedy: 'take a Subset of the longer ones',
      });
    }
    this.datasets = datasets;
    this.length = all[0]!.length;
  }

  get(index: number): Samples<D> {
    expectArguments('StackDataset', { index }, { index: anyInteger });
    if (Array.isArray(this.datasets)) {
      return this.datasets.map((each: Dataset<unknown>) => each.get(index)) as never;
    }
    return Object.fromEntries(
      Object.entries(this.datasets).map(([name, dataset]) => [name, dataset.get(index)]),
    ) as never;
  }
}

/** A concatenation of data sets. */
export class ConcatDataset<Sample> implements Dataset<Sample> {
  readonly datasets: readonly Dataset<Sample>[];

  constructor(datasets: readonly Dataset<Sample>[], ...surplus: []) {
    expectNoMore(new.target.name, surplus);
    expectArguments('ConcatDataset', { datasets }, { datasets: arrayOf(withLength) });
    this.datasets = datasets;
  }

  get length(): number {
    return this.datasets.reduce((total, { length }) => total + length, 0);
  }

  get(index: number): Sample {
    expectArguments('ConcatDataset', { index }, { index: anyInteger });
    let rest = index;
    for (const dataset of this.datasets) {
      if (rest < dataset.length) return dataset.get(rest);
      rest -= dataset.length;
    }
    throw new ArgumentError({
      what: 'ConcatDataset: no such sample',
      given: `index ${index} of ${this.length} samples`,
      expected: `an integer from 0 to ${this.length - 1}`,
      remedy: 'check the index against the length',
    });
  }
}

/**
 * Splits a data set at random. `lengths` are sample counts, or fractions that sum to 1; samples left over by rounding
 * go to the first splits. The order depends only on the seed (`5` or `{ seed: 5 }`), by default the library's.
 */
export function randomSplit<Sample, Batch = never, const L extends readonly number[] = number[]>(
  dataset: Dataset<Sample> | BatchDataset<Batch>,
  lengths: L,
  seedOrOptions?: number | { readonly seed?: number },
): { -readonly [K in keyof L]: Subset<Sample, Batch> } {
  const { seed } = argumentsOf('randomSplit', { seed: anyInteger }, seedOrOptions ?? {});
  expectArguments(
    'randomSplit',
    { dataset, lengths },
    { dataset: withLength, lengths: arrayOf(anyNumber) },
  );
  const { length } = dataset;
  const total = lengths.reduce((sum, each) => sum + each, 0);
  const parts = Math.abs(total - 1) < 1e-9 && length !== 1;
  const counts = parts ? lengths.map((part) => Math.floor(part * length)) : [...lengths];
  if (parts) {
    const rest = length - counts.reduce((sum, each) => sum + each, 0);
    for (let i = 0; i < rest; i++) counts[i % counts.length]!++;
  } else if (total !== length || !lengths.every((each) => Number.isInteger(each) && each >= 0)) {
    throw new ArgumentError({
      what: "randomSplit: the lengths don't fit",
      given: `${lengths.join(' + ')} for ${length} samples`,
      expected: `integers that add up to ${length}, or parts that add up to 1`,
      remedy: 'pass for example [0.8, 0.2]',
    });
  }
  const from = seed === undefined ? nextOffset([length]) : { seed, offset: 0 };
  const order = shuffledOrder(length, from.seed, from.offset);
  let start = 0;
  const splits = counts.map((count) => {
    const indices = order.subarray(start, start + count);
    start += count;
    return new Subset(dataset, indices);
  });
  return splits as { -readonly [K in keyof L]: Subset<Sample, Batch> };
}
