import { describe, expect, it } from 'vitest';
import * as data from '../../runtime/data/index.ts';
import { seed } from '../../runtime/random/seed.ts';
import { allocated, type Tensor, tensor } from '../ops/eager.ts';

const values = (x: Tensor) => [...x.dataSync()];

const words = ['a', 'b', 'c', 'd', 'e'];
const dataset = {
  length: 5,
  get: (index: number) => ({
    pair: [index, index % 2 === 0] as const,
    row: Int32Array.of(index, 10 * index),
    word: words[index]!,
  }),
};

interface Batch extends Disposable {
  readonly pair: readonly [Tensor, Tensor];
  readonly row: Tensor;
  readonly word: string[];
}

describe('a data set of samples', () => {
  it('is collated entry by entry, and given back together', () => {
    const before = allocated();
    const seen: unknown[] = [];
    for (using batch of new data.DataLoader<Batch>(dataset, { batchSize: 2 })) {
      seen.push([values(batch.pair[0]), values(batch.pair[1]), values(batch.row), batch.word]);
      expect([batch.pair[0].dtype, batch.pair[1].dtype, batch.row.dtype]).toEqual([
        'float32',
        'bool',
        'int32',
      ]);
    }
    expect(seen).toEqual([
      [
        [0, 1],
        [1, 0],
        [0, 0, 1, 10],
        ['a', 'b'],
      ],
      [
        [2, 3],
        [1, 0],
        [2, 20, 3, 30],
        ['c', 'd'],
      ],
      [[4], [1], [4, 40], ['e']],
    ]);
    expect(allocated()).toBe(before);
  });

  it('may answer tensors: those made for the batch are given back', () => {
    const own = tensor([7, 8]);
    const before = allocated();
    const mixed = { length: 3, get: (i: number) => [own, tensor([i])] };
    for (using batch of new data.DataLoader<[Tensor, Tensor] & Disposable>(mixed, {
      batchSize: 3,
    })) {
      expect(batch[0].shape).toEqual([3, 2]);
      expect(values(batch[1])).toEqual([0, 1, 2]);
    }
    expect(allocated()).toBe(before);
    expect(own.disposed).toBe(false);
    own.dispose();
  });

  it('fails without leaving bytes, for samples of different forms and for what get() throws', () => {
    const before = allocated();
    const loop = (get: (i: number) => unknown) => () => {
      for (const _batch of new data.DataLoader({ length: 3, get }, { batchSize: 3 }));
    };
    expect(loop((i) => (i < 2 ? tensor([1]) : 'x'))).toThrow("samples that don't fit");
    expect(loop((i) => (i < 2 ? [1] : [1, 2]))).toThrow("samples that don't fit");
    expect(loop(() => undefined)).toThrow("samples that don't fit");
    expect(loop((i) => Float32Array.from({ length: i + 1 }))).toThrow("samples that don't fit");
    const failing = loop((i) => {
      if (i === 2) throw new RangeError('sample 2');
      return tensor([i]);
    });
    expect(failing).toThrow('sample 2');
    expect(loop(async () => 1)).toThrow('asynchronous samples in a synchronous loop');
    expect(allocated()).toBe(before);
  });

  it('takes a collate function, and lists', () => {
    const loader = new data.DataLoader(['x', 'y', 'z'], {
      batchSize: 2,
      collate: (samples: string[]) => samples.join('+'),
    });
    expect([...loader]).toEqual(['x+y', 'z']);
    expect(loader.length).toBe(2);
  });
});

describe('for await', () => {
  it('waits for samples, in order, and asks for the next ones before', async () => {
    const before = allocated();
    const asked: number[] = [];
    const slow = {
      length: 5,
      async get(index: number) {
        asked.push(index);
        await new Promise((resolve) => setTimeout(resolve, index === 0 ? 20 : 1));
        return [index, tensor([index])] as const;
      },
    };
    const seen: number[] = [];
    type Pair = [Tensor, Tensor] & Disposable;
    for await (using batch of new data.DataLoader<Pair>(slow, { batchSize: 2 })) {
      seen.push(...values(batch[0]), ...values(batch[1]));
      if (seen.length === 4) expect(asked).toEqual([0, 1, 2, 3, 4]);
    }
    expect(seen).toEqual([0, 1, 0, 1, 2, 3, 2, 3, 4, 4]);
    for await (using _batch of new data.DataLoader<Pair>(slow, { batchSize: 1 })) break;
    expect(allocated()).toBe(before);
  });

  it('throws what a sample throws when its turn comes', async () => {
    const seen: number[] = [];
    const failing = {
      length: 4,
      async get(index: number) {
        if (index === 2) throw new RangeError('sample 2');
        return index;
      },
    };
    const loop = async () => {
      for await (using batch of new data.DataLoader<Tensor>(failing, { batchSize: 1 })) {
        seen.push(...batch.dataSync());
      }
    };
    await expect(loop()).rejects.toThrow('sample 2');
    expect(seen).toEqual([0, 1]);
  });
});

describe('streams', () => {
  function* numbers(ended: () => void): Generator<Tensor> {
    try {
      for (let i = 0; i < 5; i++) yield tensor([i]);
    } finally {
      ended();
    }
  }

  it('come in batches, and end with the loop', async () => {
    const before = allocated();
    let ends = 0;
    const stream = { [Symbol.iterator]: () => numbers(() => void ends++) };
    const loader = new data.DataLoader<Tensor>(stream, { batchSize: 2 });
    const seen: number[][] = [];
    for (using batch of loader) seen.push(values(batch));
    for (using _batch of loader) break;
    for await (using batch of loader) seen.push(values(batch));
    for await (using _batch of loader) break;
    expect(seen).toEqual([[0, 1], [2, 3], [4], [0, 1], [2, 3], [4]]);
    expect(ends).toBe(4);
    expect(allocated()).toBe(before);
    expect(() => loader.length).toThrow('a stream has no length');
    expect(() => new data.DataLoader(stream, { shuffle: true })).toThrow('its own order');
  });
});

describe('parts of data sets', () => {
  it('TensorDataset has rows of tensors, one by one or in batches', () => {
    const before = allocated();
    const [x, y] = [
      tensor([
        [1, 2],
        [3, 4],
        [5, 6],
      ]),
      tensor(Int32Array.of(7, 8, 9)),
    ];
    const rows = new data.TensorDataset(x, y);
    expect(rows.length).toBe(3);
    const seen: number[][] = [];
    for (using batch of new data.DataLoader(rows, { batchSize: 2 })) {
      seen.push(values(batch[0]), values(batch[1]));
    }
    expect(seen).toEqual([[1, 2, 3, 4], [7, 8], [5, 6], [9]]);
    expect(() => new data.TensorDataset(x, tensor([1]))).toThrow('not the same number of samples');
    for (const own of [x, y]) own.dispose();
    expect(allocated() - before).toBe(64);
  });

  it('randomSplit divides by numbers or parts, by a seed', () => {
    const split = (lengths: number[]) =>
      data.randomSplit(dataset, lengths, 3).map(({ indices }) => [...indices]);
    const [first, second] = split([3, 2]) as [number[], number[]];
    expect([first.length, second.length]).toEqual([3, 2]);
    expect([...first, ...second].sort()).toEqual([0, 1, 2, 3, 4]);
    expect(split([0.6, 0.4])).toEqual([first, second]);
    expect(split([0.5, 0.5]).map(({ length }) => length)).toEqual([3, 2]);
    expect(() => split([3, 3])).toThrow('3 + 3 for 5 samples');
    expect(() => new data.Subset(dataset, [5])).toThrow('index 5 of 5 samples');
    const byName = data.randomSplit(dataset, [0.5, 0.5], { seed: 3 });
    expect(byName.map(({ indices }) => [...indices])).toEqual(
      data.randomSplit(dataset, [0.5, 0.5], 3).map(({ indices }) => [...indices]),
    );
    expect(() => data.randomSplit(dataset, [0.5, 0.5], { sed: 3 } as never)).toThrow(
      "did you mean 'seed'?",
    );
  });

  it('StackDataset has a sample of each data set, in an array or by name', async () => {
    const [images, labels] = [
      [10, 20, 30],
      [1, 2, 3],
    ].map((all) => ({
      length: all.length,
      get: (i: number) => all[i]!,
    })) as [data.Dataset<number>, data.Dataset<number>];
    const pairs = new data.StackDataset([images, labels]);
    expect([pairs.length, pairs.get(1)]).toEqual([3, [20, 2]]);
    const named = new data.StackDataset({ images, labels });
    expect(named.get(2)).toEqual({ images: 30, labels: 3 });
    const loader = new data.DataLoader(named, { batchSize: 2 });
    const batches = [];
    for await (const batch of loader) batches.push(batch as { images: Tensor; labels: Tensor });
    expect(batches.map((batch) => [batch.images, batch.labels].map((x) => x.tolist()))).toEqual([
      [
        [10, 20],
        [1, 2],
      ],
      [[30], [3]],
    ]);
    for (const { images: x, labels: y } of batches) [x, y].forEach((own) => void own.dispose());
    const shorter = new data.Subset(images, [0]);
    expect(() => new data.StackDataset([shorter, labels])).toThrow(
      'not the same number of samples',
    );
  });

  it('Subset and ConcatDataset pass samples and batches on', () => {
    const subset = new data.Subset(dataset, [4, 0]);
    const all = new data.ConcatDataset([subset, dataset]);
    expect(all.length).toBe(7);
    expect([0, 1, 2].map((i) => all.get(i).word)).toEqual(['e', 'a', 'a']);
    expect(() => all.get(7)).toThrow('index 7 of 7 samples');
    const batches: string[][] = [];
    for (using batch of new data.DataLoader<Batch>(subset, { batchSize: 2 })) {
      batches.push(batch.word);
    }
    expect(batches).toEqual([['e', 'a']]);
  });
});

describe('an index that no sample has', () => {
  const rows = new data.TensorDataset(tensor([1, 2, 3, 4, 5]));
  const images = { height: 1, width: 1, mean: 0, std: 1 };
  const image = new data.ImageDataset(new Uint8Array(5), new Uint8Array(5), images);
  const sets = { samples: dataset, rows, image, subset: new data.Subset(rows, [4, 3, 2, 1, 0]) };

  it.each(Object.entries(sets))('is an error, not another sample: %s', (_, set) => {
    for (const index of [5, -1, 1.5, Number.NaN]) {
      const [own, length] = [[0, index], 2];
      const sampler = { length, [Symbol.iterator]: () => own.values() };
      const batchSampler = { length: 1, [Symbol.iterator]: () => [own].values() };
      for (const options of [{ sampler }, { batchSampler }]) {
        const loader = new data.DataLoader<unknown>(set as data.Dataset<unknown>, options);
        expect(() => [...loader]).toThrow(`index ${index} of 5 samples`);
      }
      expect(() => new data.Subset(set as data.Dataset<unknown>, own)).toThrow(
        `index ${index} of 5 samples`,
      );
      if (!('batch' in set)) continue;
      expect(() => set.batch(own)).toThrow(`index ${index} of 5 samples`);
    }
  });

  it('others may be given to batch() as a list of numbers', () => {
    using batch = sets.subset.batch([0, 3]);
    expect(values(batch[0])).toEqual([5, 2]);
    using labels = image.batch([0, 3]);
    expect(labels.images.shape).toEqual([2, 1, 1, 1]);
  });
});

describe('samplers', () => {
  it('say which samples come', () => {
    const loop = (sampler: data.Sampler, batchSize = 10) => {
      const seen: string[] = [];
      const loader = new data.DataLoader<Batch>(dataset, { sampler, batchSize });
      for (using batch of loader) seen.push(batch.word.join(''));
      return seen;
    };
    expect(loop(new data.SequentialSampler(dataset), 3)).toEqual(['abc', 'de']);
    const random = new data.RandomSampler(dataset, { seed: 1 });
    const [one, two] = [loop(random)[0]!, loop(random)[0]!];
    expect(one).not.toBe(two);
    expect([...one].sort().join('')).toBe('abcde');
    expect(loop(new data.RandomSampler(dataset, { seed: 1 }))).toEqual([one]);
    const many = new data.RandomSampler(dataset, { replacement: true, numSamples: 40, seed: 2 });
    expect(new Set(loop(many, 40)[0])).toEqual(new Set(words));
    expect([...loop(new data.SubsetRandomSampler([1, 3], { seed: 0 }))[0]!].sort()).toEqual([
      'b',
      'd',
    ]);
    expect(() => new data.RandomSampler(dataset, { numSamples: 6 })).toThrow('numSamples = 6 of 5');
  });

  it('weights: often, seldom, never', () => {
    const counts = [0, 0, 0];
    for (const i of new data.WeightedRandomSampler([3, 0, 1], 4000, { seed: 1 })) counts[i]!++;
    expect(counts[1]).toBe(0);
    expect(Math.abs(counts[0]! / 4000 - 0.75)).toBeLessThan(0.03);
    const each = new data.WeightedRandomSampler([3, 0, 1], 2, { replacement: false, seed: 1 });
    expect([...each].sort()).toEqual([0, 2]);
    expect(() => new data.WeightedRandomSampler([1, 0], 2, { replacement: false })).toThrow(
      'nothing to draw from',
    );
  });

  it('a batch sampler says what comes together', () => {
    const batchSampler = new data.BatchSampler(new data.SequentialSampler(dataset), 2, true);
    const loader = new data.DataLoader<Batch>(dataset, { batchSampler });
    const seen: string[] = [];
    for (using batch of loader) seen.push(batch.word.join(''));
    expect(seen).toEqual(['ab', 'cd']);
    expect(loader.length).toBe(2);
  });

  it("follow the library's seed when none is given", () => {
    const orders = () => {
      seed(4);
      return [...new data.RandomSampler(dataset)].concat([
        ...new data.SubsetRandomSampler([1, 2, 3]),
      ]);
    };
    expect(orders()).toEqual(orders());
  });
});
