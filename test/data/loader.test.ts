import { describe, expect, it } from 'vitest';
import { DataLoader, ImageDataset } from '../../runtime/data/index.ts';
import { shuffledOrder } from '../../runtime/data/shuffle.ts';
import { deviceGuard } from '../../runtime/device/current.ts';
import { seed } from '../../runtime/random/seed.ts';
import { allocated, expectClose } from '../ops/eager.ts';

/** Image i is filled with byte i; its label is i. */
function dataset(length: number) {
  const images = Uint8Array.from({ length: length * 6 }, (_, i) => Math.floor(i / 6));
  const labels = Uint8Array.from({ length }, (_, i) => i);
  return new ImageDataset(images, labels, { height: 2, width: 3, mean: 0.5, std: 0.25 });
}

function labelsOf(loader: DataLoader<ReturnType<ImageDataset['batch']>>): number[][] {
  const seen: number[][] = [];
  for (using batch of loader) seen.push([...batch.labels.dataSync()]);
  return seen;
}

describe('DataLoader', () => {
  it('yields normalised images with their labels, in order', () => {
    const batches: [number[], number[]][] = [];
    for (using batch of new DataLoader(dataset(5), { batchSize: 2 })) {
      const { images, labels } = batch;
      batches.push([[...images.shape], [...labels.shape]]);
      expect([images.dtype, labels.dtype]).toEqual(['float32', 'int32']);
      const rows = [...labels.dataSync()];
      const expected = rows.flatMap((label) => Array(6).fill((label / 255 - 0.5) / 0.25));
      expectClose(images.dataSync(), expected, 'images');
    }
    expect(batches).toEqual([
      [[2, 1, 2, 3], [2]],
      [[2, 1, 2, 3], [2]],
      [[1, 1, 2, 3], [1]],
    ]);
  });

  it('leaves out the last batch when asked, and counts batches', () => {
    const loader = new DataLoader(dataset(5), { batchSize: 2, dropLast: true });
    expect(loader.length).toBe(2);
    expect(labelsOf(loader)).toEqual([
      [0, 1],
      [2, 3],
    ]);
    expect(new DataLoader(dataset(5), { batchSize: 2 }).length).toBe(3);
    expect(labelsOf(new DataLoader(dataset(1), { batchSize: 2, dropLast: true }))).toEqual([]);
    expect(labelsOf(new DataLoader(dataset(0), { batchSize: 2 }))).toEqual([]);
  });

  it('shuffles by the seed, anew in each loop', () => {
    const options = { batchSize: 4, shuffle: true, seed: 7 };
    const loader = new DataLoader(dataset(20), options);
    const first = labelsOf(loader);
    const second = labelsOf(loader);
    expect(first).not.toEqual(second);
    for (const order of [first, second]) {
      expect(order.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i));
    }
    const again = new DataLoader(dataset(20), options);
    expect([labelsOf(again), labelsOf(again)]).toEqual([first, second]);
    const resumed = new DataLoader(dataset(20), options);
    resumed.epoch = 1;
    expect(labelsOf(resumed)).toEqual(second);
    expect(labelsOf(new DataLoader(dataset(20), { ...options, seed: 8 }))).not.toEqual(first);
  });

  it("follows the library's seed when none is given", () => {
    const loader = new DataLoader(dataset(20), { batchSize: 20, shuffle: true });
    seed(3);
    const orders = [labelsOf(loader), labelsOf(loader)];
    expect(orders[0]).not.toEqual(orders[1]);
    seed(3);
    expect([labelsOf(loader), labelsOf(loader)]).toEqual(orders);
  });

  it('leaks nothing when each batch is given back, also after break', () => {
    const before = allocated();
    labelsOf(new DataLoader(dataset(9), { batchSize: 2, shuffle: true }));
    for (const { images, labels } of new DataLoader(dataset(9), { batchSize: 2 })) {
      images.dispose();
      labels.dispose();
      break;
    }
    expect(allocated()).toBe(before);
  });

  it('makes tensors on the current device', () => {
    deviceGuard('meta', () => {
      for (using batch of new DataLoader(dataset(2), { batchSize: 2 })) {
        expect(batch.images.device.name).toBe('meta');
        expect(batch.labels.device.name).toBe('meta');
      }
    });
  });

  it('refuses what is no batch size, and images that are not of the labels', () => {
    for (const batchSize of [0, -1, 1.5, Number.NaN]) {
      expect(() => new DataLoader(dataset(2), { batchSize })).toThrow(`batchSize = ${batchSize}`);
    }
    expect(() => new ImageDataset(new Uint8Array(784), new Uint8Array(2))).toThrow(
      '784 bytes of images, 2 labels',
    );
  });
});

describe('shuffledOrder', () => {
  it('is a permutation that depends on seed and offset alone', () => {
    expect([...shuffledOrder(8, 1, 0)]).toEqual([...shuffledOrder(8, 1, 0)]);
    expect([...shuffledOrder(8, 1, 0)]).not.toEqual([...shuffledOrder(8, 1, 8)]);
    expect([...shuffledOrder(1, 1, 0)]).toEqual([0]);
    expect([...shuffledOrder(0, 1, 0)]).toEqual([]);
  });

  it('brings every element to every place about equally often', () => {
    const counts = new Float64Array(16);
    for (let i = 0; i < 4000; i++) {
      const order = shuffledOrder(4, 5, 4 * i);
      order.forEach((element, place) => {
        counts[place * 4 + element]!++;
      });
    }
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(120);
  });
});
