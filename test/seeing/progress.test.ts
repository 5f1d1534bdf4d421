import { describe, expect, it } from 'vitest';
import { data, ones, progress } from '../../src/index.ts';

function target(isTTY: boolean) {
  const written: string[] = [];
  return { isTTY, written, write: (text: string) => written.push(text) };
}

describe('progress', () => {
  it('draws a bar over a loader, with values, and passes its batches on', async () => {
    const to = target(true);
    const loader = new data.DataLoader(new data.TensorDataset(ones([10, 2])), { batchSize: 5 });
    const bar = progress(loader, { label: 'epoch 1', to });
    const sizes: number[] = [];
    for await (const [x] of bar) {
      sizes.push(x!.shape[0]!);
      bar.show({ loss: 0.123456, step: sizes.length });
    }
    expect(sizes).toEqual([5, 5]);
    expect(to.written[0]).toMatch(/^\repoch 1 ░{24} 0\/2/);
    expect(to.written.at(-2)).toMatch(/^\repoch 1 █{24} 2\/2 .*loss 0\.123 {2}step 2/);
    expect(to.written.at(-1)).toBe('\n');
  });

  it('writes a line per tenth where there is no terminal, and nothing where there is no target', () => {
    const to = target(false);
    const all = Array.from({ length: 30 }, (_, i) => i);
    expect([...progress(all, { to })]).toEqual(all);
    expect(to.written).toHaveLength(11);
    expect(to.written.at(-1)).toMatch(/█{24} 30\/30/);
    expect([...progress(all, { to: null })]).toEqual(all);
  });

  it('counts where the number of steps is not known, and ends its line when a loop is left', () => {
    const to = target(true);
    const endless = function* () {
      for (let i = 0; ; i++) yield i;
    };
    for (const i of progress(endless(), { to })) if (i === 3) break;
    expect(to.written.at(-2)).toMatch(/^\r3 /);
    expect(to.written.at(-1)).toBe('\n');
  });
});
