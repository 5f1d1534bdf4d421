import { describe, expect, it } from 'vitest';
import { Embedding } from '../../runtime/nn/index.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, expectClose, tensor } from '../ops/eager.ts';

const indices = (...list: number[]) => tensor(Int32Array.from(list));

describe('Embedding', () => {
  it('has a row for padding that starts as zeros and stays', () => {
    tidy(() => {
      using table = new Embedding(4, 2, { paddingIdx: -1 });
      expect(table.paddingIdx).toBe(3);
      expect([...table.weight.dataSync()].slice(6)).toEqual([0, 0]);
      table
        .forward(indices(3, 1, 1))
        .sum()
        .backward();
      expect([...table.weight.grad!.dataSync()]).toEqual([0, 0, 2, 2, 0, 0, 0, 0]);
      table.zeroGrad();
    });
    expect(() => new Embedding(4, 2, { paddingIdx: 4 })).toThrow('paddingIdx 4 of 4 rows');
  });

  it('shortens rows that are used to maxNorm, in place', () => {
    const before = allocated();
    tidy(() => {
      const rows = tensor([
        [3, 4],
        [0.3, 0.4],
        [6, 8],
      ]);
      using table = Embedding.fromPretrained(rows, { maxNorm: 1 });
      expect(table.weight.requiresGrad).toBe(false);
      const used = table.forward(indices(0, 1, 0));
      expectClose(used.dataSync(), [0.6, 0.8, 0.3, 0.4, 0.6, 0.8], 'rows');
      expectClose(table.weight.dataSync(), [0.6, 0.8, 0.3, 0.4, 6, 8], 'table');
    });
    expect(allocated()).toBe(before);
  });
});
