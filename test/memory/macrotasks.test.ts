import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { data, loadProgram, save, type Tensor, tensor, toStatic } from '../../src/index.ts';

/** The time of the only tasks that run between microtasks: of timers, requests and signals. */
const patience = 5000;

const x = tensor([1, 2, 3]);
const loader = new data.DataLoader(new data.TensorDataset(x), { batchSize: 1 });
const twice = toStatic((of: Tensor) => of.mul(2).sum());
const whole = toStatic(async (of: Tensor) => of.mul(2).add(await of.sum().item()));
let loaded: (of: Tensor) => Tensor;
beforeAll(async () => {
  twice(x);
  loaded = (await loadProgram(await save(twice))) as typeof loaded;
});
afterAll(() => x.dispose());

const steps: Record<string, () => Promise<unknown>> = {
  'item()': () => x.sum().item(),
  'data()': () => x.data(),
  'a loader': async () => {
    for await (const _ of loader);
  },
  'a captured step': () => twice(x).item(),
  'a captured async step': () => whole(x),
  'a loaded program': () => loaded(x).item(),
};

describe('timers run during a loop that only awaits', () => {
  for (const [name, step] of Object.entries(steps)) {
    it(name, async () => {
      let isDue = false;
      const timer = setTimeout(() => {
        isDue = true;
      }, 0);
      const end = performance.now() + patience;
      while (!isDue && performance.now() < end) await step();
      clearTimeout(timer);
      expect(isDue).toBe(true);
    });
  }
});

it('steps that run at the same time end in the order of their reads', async () => {
  const order: number[] = [];
  const run = async (i: number) => {
    for (let step = 0; step < 40; step++) {
      await x.sum().item();
      order.push(i);
      const until = performance.now() + 2;
      while (performance.now() < until);
    }
  };
  await Promise.all([run(0), run(1)]);
  expect(order).toEqual(Array.from({ length: 80 }, (_, i) => i % 2));
});
