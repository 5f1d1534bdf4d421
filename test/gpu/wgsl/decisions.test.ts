/** Decisions on what the GPU computes: only the number that decides is read back. */

import { describe, expect, it } from 'vitest';
import {
  DeviceError,
  deviceGuard,
  noGrad,
  ones,
  randn,
  seed,
  type Tensor,
  tensor,
  zeros,
} from '../../../runtime/index.ts';
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

  /** Decided by numbers on the CPU. */
  const decidedOnCpu: Readonly<Record<string, (x: Tensor, n: Tensor) => Tensor>> = {
    'a branch': (x, n) => (n.itemSync() > 1 ? x.mul(2).tanh() : x.sub(1)),
    'a loop': (x, n) => {
      let y = x;
      for (let i = 0; i < n.itemSync(); i++) y = y.mul(0.5).add(1);
      return y;
    },
    'a loop that computes its condition': (x, n) => {
      let [y, left] = [x, n];
      while (left.itemSync() > 0) {
        y = y.matmul(y).tanh();
        left = left.sub(1);
      }
      return y.add(1);
    },
  };

  it.each(Object.entries(decidedOnCpu))(
    '%s of a full graph, decided on the CPU, reads nothing back',
    async (_name, body) => {
      const gradient = (x: Tensor, n: Tensor) => {
        x.grad = null;
        const y = body(x, n);
        y.mul(y).sum().backward();
        return [y.detach(), x.grad!];
      };
      const captured = toStatic(gradient, { fullGraph: true });
      seed(4);
      const x = deviceGuard(gpu(), () => randn([4, 4], { requiresGrad: true }));
      const run = (n: number, f: typeof gradient) =>
        readBack(async () =>
          f(
            x,
            deviceGuard('cpu', () => tensor(n)),
          ),
        );
      for (const n of [0, 1, 2, 4, 1]) {
        const eager = await run(n, gradient);
        const expected = await Promise.all(eager.result.map((t) => t.data()));
        const { result, copies } = await run(n, captured);
        expect(copies).toEqual([]);
        const actual = await Promise.all(result.map((t) => t.data()));
        expectSameKernels(gpu(), actual as Float32Array[], expected as Float32Array[]);
      }
      expect(captured.programs()).toHaveLength(1);
      expect(captured.stats().graphRuns).toBeGreaterThanOrEqual(5);
      expectNothingOnCpu();
    },
  );

  it('decided on the GPU, a full graph says what can wait, and what the function did stays done', async () => {
    const sum = deviceGuard(gpu(), () => zeros([3]));
    const x = deviceGuard(gpu(), () => ones([3]));
    const body = (given: Tensor) => {
      sum.add_(given);
      return given.sum().itemSync() > 0 ? given.add(1) : given.mul(2);
    };
    const captured = toStatic(body, { fullGraph: true });
    for (let i = 0; i < 2; i++) {
      expect(() => captured(x)).toThrow(DeviceError);
      expect(() => captured(x)).toThrow(/await x\.item\(\), in captured code without fullGraph/);
    }
    expect([...(await sum.data())]).toEqual([4, 4, 4]);
  });
});
