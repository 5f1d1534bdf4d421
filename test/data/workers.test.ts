import { describe, expect, it } from 'vitest';
import { DataLoader, type DataLoaderOptions } from '../../runtime/data/index.ts';
import { allocated, type Tensor } from '../ops/eager.ts';
import { dataset } from './fixtures/squares.ts';

const module = new URL('./fixtures/squares.ts', import.meta.url);
// The loader of the tests doesn't reach into threads.
const preload = [new URL('./fixtures/typescript-in-threads.mjs', import.meta.url)];

function options(more: object = {}, size = 3, numWorkers = 1): DataLoaderOptions {
  return { batchSize: size, numWorkers, worker: { module, preload, ...more } };
}

interface Squares extends Disposable {
  readonly square: Tensor;
  readonly row: Tensor;
}

describe('workers', () => {
  it('make the batches of an ordinary loop, in its order', async () => {
    const before = allocated();
    const seen = { threads: [] as unknown[], here: [] as unknown[] };
    const shuffled = { shuffle: true, seed: 5 };
    const plain = (batch: Squares) => [[...batch.square.dataSync()], [...batch.row.dataSync()]];
    for await (using batch of new DataLoader<Squares>(dataset, {
      ...options({}, 3, 2),
      ...shuffled,
    })) {
      seen.threads.push(plain(batch));
      expect(batch.row.shape[1]).toBe(2);
    }
    for (using batch of new DataLoader<Squares>(dataset, { batchSize: 3, ...shuffled })) {
      seen.here.push(plain(batch));
    }
    expect(seen.threads).toEqual(seen.here);
    expect(seen.here.length).toBe(4);
    expect(allocated()).toBe(before);
  });

  it('end with the loop, also after break, and leave nothing', async () => {
    const before = allocated();
    let count = 0;
    for await (using batch of new DataLoader<Squares>(dataset, options({}, 1))) {
      count += batch.square.numel();
      break;
    }
    expect(count).toBe(1);
    expect(allocated()).toBe(before);
  });

  it('tell which samples failed, and why, when their turn comes', async () => {
    const broken = options({ export: 'failing', data: { at: 7 } });
    const seen: number[] = [];
    const loop = async () => {
      for await (using batch of new DataLoader<Tensor>(dataset, broken)) {
        seen.push(...batch.dataSync());
      }
    };
    const error = await loop().catch((caught: Error) => caught);
    expect(seen).toEqual([0, 1, 2, 3, 4, 5]);
    expect((error as Error).message).toContain(
      'DataLoader: worker 0 failed on samples 6, 7, 8\n  given:    sample 7 is broken',
    );
    expect(((error as Error).cause as Error).stack).toContain('squares.ts');
  });

  it('a thread that ends is an error, not a wait', async () => {
    const dead = options({ export: 'dying', data: { at: 4 } });
    const loop = async () => {
      for await (using _batch of new DataLoader<Tensor>(dataset, dead));
    };
    await expect(loop()).rejects.toThrow('it ended with exit code 3');
  });

  it("name the samples that can't be sent, and what was thrown that is no error", async () => {
    const collate = (samples: unknown[]) => samples;
    const loop = async (name: string) => {
      const loader = new DataLoader(dataset, { ...options({ export: name }, 1), collate });
      let count = 0;
      try {
        for await (const _batch of loader) count++;
      } catch (error) {
        return `after ${count}: ${(error as Error).message}`;
      }
      return 'no error';
    };
    expect(await loop('uncloneable')).toMatch(
      /^after 2: DataLoader: worker 0 failed on samples 2\n {2}given: .*could not be cloned/,
    );
    expect(await loop('throwing')).toMatch(
      /^after 0: DataLoader: worker 0 failed on samples 0\n {2}given: +no sample 0\n/,
    );
  });

  it('a module without the data set is named', async () => {
    const loop = async () => {
      for await (using _batch of new DataLoader<Tensor>(dataset, options({ export: 'none' })));
    };
    await expect(loop()).rejects.toThrow('has no data set by the name none');
  });

  it('share a stream: each has its part', async () => {
    const stream = { async *[Symbol.asyncIterator]() {} };
    const seen: number[][] = [];
    const loader = new DataLoader<Tensor>(stream, options({ export: 'numbers' }, 2, 2));
    for await (using batch of loader) seen.push([...batch.dataSync()]);
    expect(seen).toEqual([[0, 2], [1, 3], [4, 6], [5, 7], [8], [9]]);
  });

  it('samples are sent as they are when the loader collates', async () => {
    const sizes: number[] = [];
    const loader = new DataLoader(dataset, {
      ...options(),
      collate: (samples: { square: number }[]) => samples.map(({ square }) => square),
    });
    for await (const batch of loader) sizes.push(...batch);
    expect(sizes).toEqual([0, 1, 4, 9, 16, 25, 36, 49, 64, 81]);
  });

  it('need to know where the data set is', () => {
    expect(() => new DataLoader(dataset, { numWorkers: 1 })).toThrow(
      "DataLoader: workers don't know the data set",
    );
  });
});
