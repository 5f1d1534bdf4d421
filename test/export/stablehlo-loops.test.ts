/** Gradients of loops that depend on data, in XLA: a table row for each iteration, and NaN beyond the last row. */

import { beforeAll, describe, expect, it } from 'vitest';
import { exportStableHLO, type StableHLOExport } from '../../src/export/index.ts';
import { ArgumentError, nn, optim, type Tensor, tensor, toStatic } from '../../src/index.ts';
import { type Step, steps, type Trained, trained } from './training-steps.ts';
import { runInXla, type XlaResult, xlaPython } from './xla.ts';

const most = 24;

type Loss = (net: nn.Linear, x: Tensor) => Tensor;

/** Iterations until the state is large enough: another number in each step. */
function grown(net: nn.Linear, x: Tensor, enough = 50): Tensor {
  let y = x;
  while (y.square().sum().itemSync() < enough) y = net.forward(y).sigmoid().add(y.mul(1.5));
  return y;
}

const losses: Readonly<Record<string, Loss>> = {
  'captured weights': (net, x) => grown(net, x).square().mean(),
  'weights that the loss reads besides': (net, x) =>
    grown(net, x).square().mean().add(net.weight.square().sum().mul(0.1)),
  'a start that needs a gradient': (net, x) => grown(net, net.forward(x).mul(0.3)).abs().sum(),
  'a tensor that is the start and read by the iterations': (net, x) => {
    const start = net.forward(x).mul(0.2);
    let y = start;
    while (y.square().sum().itemSync() < 20) y = y.mul(1.5).add(start.square().mul(0.3));
    return y.square().mean();
  },
  'two states and a result that no gradient flows to': (net, x) => {
    let [y, z, count] = [x, x.mul(0.5), x.newZeros([1])];
    while (z.abs().sum().itemSync() < 9) {
      [y, z] = [net.forward(z).sigmoid(), y.add(z.mul(1.1))];
      count = count.add(1);
    }
    return y.mul(z).mean().add(count.detach().sum());
  },
  'some steps without an iteration': (net, x) =>
    grown(net, net.forward(x), 3).square().mean().add(net.bias!.sum()),
};

const sizes = (i: number) =>
  Float64Array.from({ length: 6 }, (_, k) => 0.2 + ((i * 5 + k * 3) % 11) / 8);

const stepOf =
  (loss: Loss, optimizerOf: (net: nn.Linear) => optim.Optimizer, dtype: 'float32' | 'float64') =>
  (): Step => {
    const net = new nn.Linear(3, 3);
    net.to(dtype);
    const optimizer = optimizerOf(net);
    return {
      step(x) {
        const value = loss(net, x!);
        value.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return value;
      },
      inputs: (i) => [tensor(sizes(i), { shape: [2, 3], dtype })],
      dispose: () => net.dispose(),
    };
  };

const sgd = (net: nn.Linear) => new optim.SGD(net.parameters(), { lr: 0.01 });
const adam = (net: nn.Linear) => new optim.Adam(net.parameters(), { lr: 0.01 });

const cases = new Map<string, readonly [() => Step, number]>([
  ...Object.entries(losses).map(
    ([name, loss]) => [name, [stepOf(loss, sgd, 'float64'), 1e-9]] as const,
  ),
  ['Adam in float32', [stepOf(losses['captured weights']!, adam, 'float32'), 1e-4]],
]);

/** A program whose loop makes more iterations than its tables have rows. */
const beyond = 'more iterations than the bound';

const python = xlaPython();
const made = new Map<string, Trained<StableHLOExport>>();
let results: Record<string, XlaResult> = {};
beforeAll(async () => {
  for (const [name, [build]] of cases) {
    const bounded = (step: Parameters<typeof exportStableHLO>[0]) =>
      exportStableHLO(step, { maxIterations: most });
    made.set(name, await trained(build, bounded));
  }
  made.set(
    beyond,
    await trained(cases.get('captured weights')![0], (step) =>
      exportStableHLO(step, { maxIterations: 1 }),
    ),
  );
  if (!python) return;
  const jobs = [...made].map(([name, { exported, inputs, batches }]) => {
    const { text, sidecar } = exported;
    return [name, { text, outputs: sidecar.outputs, inputs, steps, batches }] as const;
  });
  results = await runInXla(python, Object.fromEntries(jobs));
}, 300_000);

const numbersOf = (name: string) => {
  const found = results[name]!;
  expect('error' in found ? found.error : '').toBe('');
  return found as Readonly<Record<string, ArrayLike<number>>>;
};

describe('the gradient of a loop that depends on data', () => {
  it.runIf(python).each([...cases.keys()])('trains in XLA as here: %s', (name) => {
    const { losses: ours, lossAt } = made.get(name)!;
    const theirs = ours.map((_, i) => numbersOf(name)[`o${lossAt}.${i}`]![0]!);
    const difference = Math.max(...theirs.map((loss, i) => Math.abs(loss - ours[i]!)));
    expect(difference).toBeLessThan(cases.get(name)![1]);
    expect(new Set(ours).size).toBe(steps);
  });

  it.runIf(python)('is NaN where the loop makes more iterations than the bound', () => {
    const { losses: ours, lossAt, exported } = made.get(beyond)!;
    const found = numbersOf(beyond);
    expect(found[`o${lossAt}.0`]![0]).toBeCloseTo(ours[0]!, 9);
    const weightAt = exported.sidecar.outputs.findIndex(({ name }) => name.endsWith('weight'));
    expect(Array.from(found[`o${weightAt}.${steps - 1}`]!)).toEqual(Array(9).fill(Number.NaN));
  });

  it('needs a bound', async () => {
    const { step, inputs, dispose } = cases.get('captured weights')![0]();
    const compiled = toStatic(step, { fullGraph: true });
    compiled(...inputs(0));
    await expect(exportStableHLO(compiled)).rejects.toThrow(/whileBackward.*\n.*\n.*maxIterations/);
    for (const maxIterations of [0, 1.5, Number.NaN, 2 ** 31]) {
      await expect(exportStableHLO(compiled, { maxIterations })).rejects.toThrow(ArgumentError);
    }
    dispose();
  });

  it('is rejected by name in a loop around it', async () => {
    const weight = tensor([0.5, 0.25]).requiresGrad_();
    const nested = (x: Tensor) => {
      let y = x.mul(weight);
      while (y.sum().itemSync() < 40) {
        while (y.sum().itemSync() < 20) y = y.mul(2).add(weight);
        y = y.mul(1.5);
      }
      y.sum().backward();
      return weight.grad!;
    };
    const compiled = toStatic(nested, { fullGraph: true });
    compiled(tensor([1, 2]));
    const bounded = exportStableHLO(compiled, { maxIterations: 8 });
    await expect(bounded).rejects.toThrow(/branch or loop inside it/);
  });
});
