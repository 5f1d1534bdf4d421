/** Decisions on what the GPU computes: only the number that decides is read back. */

import { describe, expect, it } from 'vitest';
import { deviceGuard, noGrad, randn, seed, type Tensor } from '../../../runtime/index.ts';
import { events } from '../../../runtime/memory/events.ts';
import { toStatic } from '../../../src/to-static.ts';
import { gpuForTests, nothingOnCpu, skipGpu } from '../open-gpu.ts';
import { expectSameKernels } from '../parity.ts';

/** Copies to the host, in bytes, while `body` runs. */
async function readBack<T>(body: () => Promise<T>): Promise<{ result: T; copies: number[] }> {
  const copies: number[] = [];
  const stop = events.subscribe((event) => {
    if (event.kind === 'copy' && event.from === 'gpu') copies.push(event.bytes);
  });
  try {
    return { result: await body(), copies };
  } finally {
    stop();
  }
}

describe.skipIf(skipGpu)('gpu/decisions', () => {
  const gpu = gpuForTests();
  const expectNothingOnCpu = nothingOnCpu(gpu);

  async function branch(x: Tensor, w: Tensor): Promise<Tensor> {
    const y = x.matmul(w).tanh();
    const total = await y.sum().item();
    const z = total > 0 ? y.mul(2).exp() : y.sub(1).abs();
    return z.matmul(w).sum(0);
  }

  async function loop(x: Tensor, w: Tensor): Promise<Tensor> {
    let y = x;
    let rounds = 0;
    while ((await y.abs().sum().item()) > 1 && rounds < 6) {
      y = y.matmul(w).mul(0.2).tanh();
      rounds++;
    }
    return y.add(rounds);
  }

  it.each<[string, (x: Tensor, w: Tensor) => Promise<Tensor>]>([
    ['a branch', branch],
    ['a loop', loop],
  ])('%s, captured, reads four bytes per decision', async (_name, body) => {
    const captured = toStatic(body);
    for (const salt of [1, 2, 3]) {
      seed(salt);
      const [x, w] = deviceGuard(gpu(), () => [randn([9, 9]), randn([9, 9])] as const);
      const eager = await readBack(() => noGrad(() => body(x, w)));
      const expected = await eager.result.data();
      // Once to trace, once from the entry.
      for (let i = 0; i < 2; i++) {
        const { result, copies } = await readBack(() => noGrad(() => captured(x, w)));
        expect(copies).toEqual(eager.copies);
        expect(copies.length).toBeGreaterThan(0);
        expect(new Set(copies)).toEqual(new Set([4]));
        const actual = await result.data();
        expectSameKernels(gpu(), [actual as Float32Array], [expected as Float32Array]);
      }
    }
    expect(captured.programs().length).toBeGreaterThan(1);
    expectNothingOnCpu();
  });
});
