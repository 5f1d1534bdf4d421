/** Training steps that move a schedule, saved: what a schedule changes is the state of the program. */

import { describe, expect, it } from 'vitest';
import { loadProgram } from '../../runtime/index.ts';
import { nn, optim, save, seed, type Tensor, tensor, toStatic } from '../../src/index.ts';

type Schedule = (optimizer: optim.Optimizer) => { step(): void };

const schedules: Readonly<Record<string, Schedule>> = {
  OneCycleLR: (o) => new optim.OneCycleLR(o, { maxLr: 0.1, totalSteps: 30 }),
  CyclicLR: (o) => new optim.CyclicLR(o, { baseLr: 0.01, maxLr: 0.1, stepSizeUp: 4 }),
};
const optimizers: Readonly<Record<string, (of: nn.Module) => optim.Optimizer>> = {
  SGD: (of) => new optim.SGD(of.parameters(), { lr: 0.05, momentum: 0.9 }),
  Adam: (of) => new optim.Adam(of.parameters(), { lr: 0.05 }),
};

describe.each(Object.keys(optimizers))('a saved step of %s', (optimizerName) => {
  it.each(Object.keys(schedules))('moves %s as the function does', async (scheduleName) => {
    seed(4);
    const layer = new nn.Linear(2, 1);
    const optimizer = optimizers[optimizerName]!(layer);
    const schedule = schedules[scheduleName]!(optimizer);
    const step = toStatic(
      (x: Tensor) => {
        const loss = layer.forward(x).square().mean();
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        schedule.step();
        return loss;
      },
      { fullGraph: true },
    );
    const x = tensor([[1, 2]]);
    // The file has the phases of a cycle that calls have reached.
    for (let i = 0; i < 10; i++) step(x).dispose();
    const program = await loadProgram(await save(step));
    for (let i = 0; i < 8; i++) {
      using own = step(x);
      using loaded = program(x) as Tensor;
      expect([...loaded.dataSync()]).toEqual([...own.dataSync()]);
    }
    program.dispose();
  });
});

it('keeps an array that the function replaces in the state, element by element', async () => {
  const box = { pair: [1, 2] as number[] };
  const step = toStatic(
    (x: Tensor) => {
      const [a, b] = box.pair as [number, number];
      box.pair = [a + b, a];
      return x.mul(a).add(b);
    },
    { fullGraph: true },
  );
  const x = tensor([1]);
  for (let i = 0; i < 4; i++) step(x).dispose();
  const program = await loadProgram(await save(step));
  for (let i = 0; i < 5; i++) {
    using own = step(x);
    using loaded = program(x) as Tensor;
    expect([...loaded.dataSync()]).toEqual([...own.dataSync()]);
  }
  const variables = Object.values(program.variables());
  expect(variables).toEqual(expect.arrayContaining(box.pair));
});
