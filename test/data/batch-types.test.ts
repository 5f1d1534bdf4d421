/** The type of a loader's batches follows from that of the samples, as the batches themselves do. */

import { expect, expectTypeOf, it } from 'vitest';
import { data, Tensor, tensor } from '../../src/index.ts';

const { DataLoader } = data;

const pairs = { length: 4, get: (i: number) => [tensor([i, i]), i % 2] as const };

/** Checked by the compiler. */
function isPair(batch: [Tensor, Tensor] & Disposable): void {
  expectTypeOf(batch.length).toEqualTypeOf<2>();
}

it('arrays and objects of samples become arrays and objects of tensors', async () => {
  for (using batch of new DataLoader(pairs, { batchSize: 2 })) {
    isPair(batch);
    expectTypeOf(batch[1]).toEqualTypeOf<Tensor>();
    expect(batch.map(({ shape }) => shape)).toEqual([[2, 2], [2]]);
  }
  const slow = {
    length: 2,
    get: async (i: number) => ({
      image: new Float32Array(3),
      isOld: i > 0,
      name: `${i}`,
      boxes: [tensor([i]), { area: i }] as [Tensor, { area: number }],
    }),
  };
  for await (using batch of new DataLoader(slow, { batchSize: 2 })) {
    const { image, isOld, name, boxes } = batch;
    expectTypeOf(image).toEqualTypeOf<Tensor>();
    expectTypeOf(isOld).toEqualTypeOf<Tensor>();
    expectTypeOf(name).toEqualTypeOf<string[]>();
    expectTypeOf(boxes).toEqualTypeOf<[Tensor, { area: Tensor }]>();
    expect([image.shape, isOld.dtype, name, boxes[1].area.shape]).toEqual([
      [2, 3],
      'bool',
      ['0', '1'],
      [2],
    ]);
  }
});

it('samples that are a value are batches that are a tensor or an array of texts', () => {
  for (const batch of new DataLoader({ length: 1, get: (i: number) => i })) {
    expectTypeOf(batch).toEqualTypeOf<Tensor & Disposable>();
    expect(batch).toBeInstanceOf(Tensor);
  }
  for (const batch of new DataLoader({ length: 1, get: (i: number) => `${i}` })) {
    expectTypeOf(batch).toEqualTypeOf<string[]>();
    expect(batch).toEqual(['0']);
  }
});

it('subsets, concatenations and streams have the types of their samples', () => {
  const [first, second] = data.randomSplit(pairs, [1, 3]);
  for (using batch of new DataLoader(new data.ConcatDataset([first!, second!]))) {
    isPair(batch);
  }
  for (using batch of new DataLoader(first!)) {
    isPair(batch);
  }
  const whole = new data.TensorDataset(tensor([1, 2]), tensor([3, 4]));
  const [half] = data.randomSplit(whole, [0.5, 0.5]);
  for (using batch of new DataLoader(half!)) {
    expectTypeOf(batch).toEqualTypeOf<ReturnType<typeof whole.batch>>();
  }
  function* numbers() {
    yield { value: 1 };
  }
  for (using batch of new DataLoader(numbers())) {
    expectTypeOf(batch).toEqualTypeOf<{ value: Tensor } & Disposable>();
  }
});

it('a collate function or a type argument chooses another type', () => {
  const collate = (samples: (readonly [Tensor, number])[]) => samples.length;
  for (const batch of new DataLoader(pairs, { batchSize: 3, collate })) {
    expectTypeOf(batch).toEqualTypeOf<number>();
  }
  class PairLoader extends DataLoader<[Tensor, Tensor]> {
    constructor() {
      super(pairs);
    }
  }
  for (const batch of new PairLoader()) expectTypeOf(batch).toEqualTypeOf<[Tensor, Tensor]>();
  const unknown: data.Dataset<unknown> = pairs;
  expectTypeOf(new DataLoader(unknown)).toExtend<Iterable<unknown>>();
  const count = (loader: data.DataLoader<[Tensor, Tensor]>) => loader.length;
  expect([new PairLoader(), new DataLoader(pairs)].map(count)).toEqual([4, 4]);
  expect(new PairLoader()).toBeInstanceOf(DataLoader);
});
