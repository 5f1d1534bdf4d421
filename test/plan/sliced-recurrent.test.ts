/** Recurrent modules, whose gates are views of views of products that slices make part by part. */

import { describe, expect, it } from 'vitest';
import { Captured } from '../../src/dispatch/captured-function.ts';
import { crossEntropy, nn, optim, randn, seed, type Tensor, tensor } from '../../src/index.ts';

interface Sizes {
  readonly inputs: number;
  readonly hidden: number;
  readonly batch: number;
  readonly steps: number;
  readonly batchFirst: boolean;
}

const modules = { RNN: nn.RNN, GRU: nn.GRU, LSTM: nn.LSTM };

const sizes: readonly Sizes[] = [
  { inputs: 16, hidden: 64, batch: 32, steps: 8, batchFirst: true },
  { inputs: 8, hidden: 32, batch: 8, steps: 8, batchFirst: true },
  { inputs: 64, hidden: 64, batch: 64, steps: 8, batchFirst: false },
];

function losses(kind: keyof typeof modules, given: Sizes, slices: boolean | null) {
  const { inputs, hidden, batch, steps, batchFirst } = given;
  seed(1);
  const recurrent = new modules[kind](inputs, hidden, { batchFirst });
  const head = new nn.Linear(hidden, 5);
  const parameters = [...recurrent.parameters(), ...head.parameters()];
  const optimizer = new optim.SGD(parameters, { lr: 0.1 });
  const step = (x: Tensor, labels: Tensor): Tensor => {
    const [all] = recurrent.forward(x);
    const loss = crossEntropy(head.forward(all.reshape([batch * steps, hidden])), labels);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  const captured =
    slices === null
      ? null
      : new Captured(step as Captured['fn'], { memory: { slices, prefer: 'bytes' } });
  const x = randn(batchFirst ? [batch, steps, inputs] : [steps, batch, inputs]);
  const labels = tensor(new Int32Array(batch * steps).map((_, i) => (i * 7) % 5));
  const run = () =>
    captured ? (captured.call(undefined, [x, labels]) as Tensor) : step(x, labels);
  const values = [0, 1, 2].map(() => run().itemSync());
  const ops = captured?.parts.at(-1)?.stages?.planned.forward.steps.length;
  return { values, ops };
}

describe.each(Object.keys(modules) as (keyof typeof modules)[])('%s', (kind) => {
  it('has the losses of eager execution where its products are made part by part', () => {
    let sliced = 0;
    for (const each of sizes) {
      const [eager, whole, parts] = [null, false, true].map((slices) => losses(kind, each, slices));
      expect(parts!.values).toEqual(eager!.values);
      expect(whole!.values).toEqual(eager!.values);
      expect(parts!.ops).toBeDefined();
      if (parts!.ops !== whole!.ops) sliced++;
    }
    if (kind !== 'RNN') expect(sliced).toBeGreaterThanOrEqual(2);
  });
});
