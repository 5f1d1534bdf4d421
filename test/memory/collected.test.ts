import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { allocated, tensor } from '../ops/eager.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Finalizers run some time after a collection. */
async function settled(expected: number): Promise<number> {
  for (let i = 0; i < 50 && allocated() !== expected; i++) {
    collectGarbage();
    await setTimeout(5);
  }
  return allocated();
}

describe('tensors that nobody disposed', () => {
  it('are given back after garbage collection', async () => {
    const before = allocated();
    (() => {
      for (let i = 0; i < 10; i++) tensor(new Float32Array(1024));
    })();
    expect(allocated() - before).toBe(10 * 4096);
    expect(await settled(before)).toBe(before);
  });

  it('with their graph and what it saved', async () => {
    const before = allocated();
    (() => {
      const x = tensor(new Float32Array(1024), { requiresGrad: true });
      x.exp().mul(x).sum();
    })();
    expect(allocated()).toBeGreaterThan(before + 3 * 4096);
    expect(await settled(before)).toBe(before);
  });

  it('a tensor that was disposed by hand is not given back twice', async () => {
    const before = allocated();
    (() => {
      const x = tensor(new Float32Array(1024));
      x.reshape([32, 32]);
      x.dispose();
    })();
    expect(await settled(before)).toBe(before);
  });

  it('a live graph keeps what it needs through a collection', async () => {
    const x = tensor(new Float32Array(1024).fill(1), { requiresGrad: true });
    const loss = x.exp().exp().sum();
    collectGarbage();
    await setTimeout(20);
    loss.backward();
    expect(x.grad!.dataSync()[0]).toBeCloseTo(Math.E * Math.exp(Math.E), 3);
    for (const one of [x, loss, x.grad!]) one.dispose();
  });
});
