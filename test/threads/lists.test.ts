/** One kernel over many tensors, such as an optimizer's: threads share it in few parts, and to the same bits. */

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { pool } from '../../runtime/device/cpu/threads/pool.ts';
import { init, optim, randn, seed, type Tensor, tidy, toStatic } from '../../src/index.ts';

beforeAll(async () => {
  await init('cpu', { threads: 4 });
  await pool.ready();
});

afterAll(() => {
  pool.threads = 1;
});

/** The parameters' bytes after three steps, and the parts of the last one's kernels. */
async function train(
  threads: number,
  sizes: readonly number[],
  make: (parameters: Tensor[]) => optim.Optimizer,
): Promise<{ bytes: string[]; parts: number[] }> {
  pool.threads = threads;
  seed(1);
  const parameters = sizes.map((size) => randn([size]).requiresGrad_());
  const gradients = sizes.map((size) => randn([size]));
  const optimizer = make(parameters);
  const step = toStatic(() => {
    parameters.forEach((parameter, i) => {
      parameter.grad = gradients[i]!;
    });
    optimizer.step();
  });
  step();
  await step.ready();
  step();
  const run = vi.spyOn(pool, 'run');
  step();
  const parts = run.mock.calls.map(([, count]) => count);
  run.mockRestore();
  const bytes = parameters.map((parameter) =>
    tidy(() => {
      const { buffer, byteOffset, byteLength } = parameter.dataSync();
      return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
    }),
  );
  optimizer.dispose();
  return { bytes, parts };
}

it.each([
  [
    'many matrices, many vectors',
    [...Array<number>(40).fill(16_384), ...Array<number>(40).fill(7)],
  ],
  ['one large matrix among vectors', [500_001, ...Array<number>(30).fill(129)]],
  ['sizes that no vector fits', [99_999, 65_537, 33, 1, 12_345, 70_001]],
])('%s', async (_, sizes) => {
  for (const make of [
    (parameters: Tensor[]) => new optim.AdamW(parameters, { lr: 0.01 }),
    (parameters: Tensor[]) => new optim.SGD(parameters, { lr: 0.1, momentum: 0.9 }),
  ]) {
    const alone = await train(1, sizes, make);
    expect(alone.parts).toEqual([]);
    for (const threads of [2, 4]) {
      const { bytes, parts } = await train(threads, sizes, make);
      expect(bytes).toEqual(alone.bytes);
      const count = parts.reduce((sum, each) => sum + each, 0);
      // Enough for all threads, and little to bind: parts of the whole list, not of each tensor.
      expect(count).toBeGreaterThanOrEqual(8);
      expect(count).toBeLessThanOrEqual(128 + sizes.length);
    }
  }
});
