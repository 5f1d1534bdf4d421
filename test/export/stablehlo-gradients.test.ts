/**
 * Gradients of branches and loops that depend on data, and of all that is inside of them, in XLA: a table row for each
 * iteration, and NaN beyond the last row.
 */

import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { exportStableHLO, type StableHLOExport } from '../../src/export/index.ts';
import {
  ArgumentError,
  dropout,
  nn,
  optim,
  rand,
  type Tensor,
  tensor,
  toStatic,
} from '../../src/index.ts';
import { shareOfDay } from '../share-of-day.ts';
import { nestedBlocks, runBlock } from './nested-blocks.ts';
import { xlaPython } from './python.ts';
import { type Step, steps, type Trained, trained } from './training-steps.ts';
import { runInXla, type XlaResult } from './xla.ts';

const most = 24;

type Loss = (net: nn.Linear, x: Tensor) => Tensor;

/** Iterations until the state is large enough: another number in each step. */
function grown(net: nn.Linear, x: Tensor, enough = 50): Tensor {
  let y = x;
  while (y.square().sum().itemSync() < enough) y = net.forward(y).sigmoid().add(y.mul(1.5));
  return y;
}

/** A branch that some steps take and others don't. */
function bent(net: nn.Linear, x: Tensor): Tensor {
  if (x.mean().itemSync() > 0.8) return net.forward(x).mul(0.5);
  return x.sin().add(net.weight.square().sum());
}

/** A layer with statistics. */
const norm = new nn.BatchNorm1d(3).to('float64');

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
  'a branch': (net, x) => bent(net, net.forward(x)).square().mean(),
  'a branch in a branch': (net, x) => {
    let y = net.forward(x);
    if (x.sum().itemSync() > 4) y = x.max().itemSync() > 1.2 ? bent(net, y) : y.mul(net.bias!);
    return y.square().mean();
  },
  'a branch in a loop': (net, x) => {
    let y = x;
    while (y.square().sum().itemSync() < 40) y = y.mul(1.4).add(bent(net, y).sigmoid());
    return y.square().mean();
  },
  'a loop in a branch': (net, x) => {
    const y = x.sum().itemSync() > 4 ? grown(net, net.forward(x).abs()) : net.forward(x);
    return y.square().mean();
  },
  'a loop in a loop': (net, x) => {
    let y = x;
    while (y.square().sum().itemSync() < 60) y = y.add(grown(net, y.mul(0.2), 5).mul(0.3));
    return y.square().mean();
  },
  'a branch in a loop in a branch in a loop': (net, x) => {
    let y = net.forward(x).abs();
    while (y.square().sum().itemSync() < 60) {
      if (y.max().itemSync() > 2) {
        let z = y.mul(0.1);
        while (z.sum().itemSync() < 4) z = z.mul(1.5).add(bent(net, z).sigmoid().mul(y));
        y = y.add(z);
      } else y = y.mul(1.5).add(net.bias!.square());
    }
    return y.square().mean();
  },
  'random numbers of which branches and loops decide how many are drawn': (net, x) => {
    let y = net.forward(x).abs();
    while (y.square().sum().itemSync() < 60) {
      if (y.max().itemSync() > 1.5) y = y.mul(rand([2, 3], { dtype: 'float64' }).add(1));
      else y = y.add(dropout(net.forward(y).sigmoid(), 0.5)).add(0.1);
    }
    return y
      .square()
      .mean()
      .mul(rand([1], { dtype: 'float64' }).sum());
  },
  'a tensor from before the outer loop that only the inner loop reads': (net, x) => {
    const scale = net.forward(x).sigmoid();
    const part = scale.narrow(0, 0, 1);
    let y = x;
    while (y.square().sum().itemSync() < 60) {
      let z = y;
      while (z.sum().itemSync() < 8) z = z.mul(1.5).add(scale.mul(part));
      y = y.mul(1.3).add(z.mul(y).mul(0.1));
    }
    return y.square().mean();
  },
  'a branch that writes to a tensor from before it, and reads it': (net, x) => {
    const scale = x.mul(1);
    let y = net.forward(x);
    if (x.sum().itemSync() > 4) {
      scale.mul_(3);
      y = y.mul(scale);
    }
    return y.square().mean().add(scale.sum());
  },
  'a branch that reads a view of what it writes': (net, x) => {
    const scale = x.mul(1);
    const row = scale.narrow(0, 1, 1);
    let y = net.forward(x);
    if (x.sum().itemSync() > 4) {
      scale.mul_(3);
      y = y.mul(row).mul(scale.t().narrow(1, 0, 1).t());
    } else row.add_(y.detach().narrow(0, 0, 1));
    return y.mul(scale).tanh().square().mean();
  },
  'statistics that branches in a loop update': (net, x) => {
    const mean = x.newZeros([3]);
    let y = net.forward(x);
    while (y.square().sum().itemSync() < 60) {
      if (y.max().itemSync() > 1.5) {
        mean.mul_(0.9).add_(y.detach().mean(0));
        y = y.mul(mean.clone().add(1));
      } else {
        mean.narrow(0, 0, 2).add_(0.1);
        y = net.forward(y).abs().add(mean.square());
      }
      y = y.mul(1.2).add(0.1);
    }
    return y.square().mean().add(mean.sum());
  },
  'a batch normalization in a branch': (net, x) => {
    const y = x.sum().itemSync() > 4 ? norm.forward(net.forward(x)) : net.forward(x);
    return y.add(norm.runningMean!).square().mean();
  },
  'rows that a loop writes for each iteration': (net, x) => {
    const rows = x.newZeros([24, 3]);
    let [y, at] = [net.forward(x), x.newZeros([1], { dtype: 'int32' })];
    while (y.square().sum().itemSync() < 40) {
      rows.indexAdd_(0, at, y.detach().sum(0, true));
      y = y.mul(1.3).add(net.forward(rows.indexSelect(0, at)).abs());
      at = at.add(1);
    }
    return y.square().mean().add(rows.sum());
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

const nested = fc.sample(nestedBlocks, { seed: 20, numRuns: process.env.INTEROP ? 40 : 3 });
const random = nested.map((block, i): [string, Loss] => {
  const loss: Loss = (net, x) => {
    const start = net.forward(x).sin();
    return runBlock(block, net, start, x.add(start)).square().mean();
  };
  return [`blocks nested at random, ${i}`, loss];
});

const cases = new Map<string, readonly [() => Step, number]>([
  ...[...Object.entries(losses), ...random].map(
    ([name, loss]) => [name, [stepOf(loss, sgd, 'float64'), 1e-9]] as const,
  ),
  ['Adam in float32', [stepOf(losses['captured weights']!, adam, 'float32'), 1e-4]],
]);

/** Programs whose loops make more iterations than their tables have rows. */
const beyond = ['captured weights', 'a loop in a loop', 'a loop in a branch'];
const beyondName = (name: string) => `${name}, more iterations than the bound`;

const taken = shareOfDay([...cases.keys()]);
const takenBeyond = shareOfDay(beyond);

const python = xlaPython();
const made = new Map<string, Trained<StableHLOExport>>();
let results: Record<string, XlaResult> = {};
beforeAll(async () => {
  for (const name of taken) {
    const [build] = cases.get(name)!;
    const bounded = (step: Parameters<typeof exportStableHLO>[0]) =>
      exportStableHLO(step, { maxIterations: most });
    made.set(name, await trained(build, bounded));
  }
  for (const name of takenBeyond) {
    const one = (step: Parameters<typeof exportStableHLO>[0]) =>
      exportStableHLO(step, { maxIterations: 1 });
    made.set(beyondName(name), await trained(cases.get(name)![0], one));
  }
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

describe('the gradient of branches and loops that depend on data', () => {
  it.runIf(python).each(taken)('trains in XLA as here: %s', (name) => {
    const { losses: ours, lossAt } = made.get(name)!;
    const theirs = ours.map((_, i) => numbersOf(name)[`o${lossAt}.${i}`]![0]!);
    const difference = Math.max(...theirs.map((loss, i) => Math.abs(loss - ours[i]!)));
    expect(difference).toBeLessThan(cases.get(name)![1]);
    expect(new Set(ours).size).toBe(steps);
  });

  it.runIf(python).each(takenBeyond)('is NaN beyond the bound: %s', (name) => {
    const { losses: ours, lossAt, exported } = made.get(beyondName(name))!;
    const found = numbersOf(beyondName(name));
    expect(found[`o${lossAt}.0`]![0]).toBeCloseTo(ours[0]!, 9);
    const weightAt = exported.sidecar.outputs.findIndex(({ name }) => name.endsWith('weight'));
    expect(Array.from(found[`o${weightAt}.${steps - 1}`]!)).toEqual(Array(9).fill(Number.NaN));
  });

  it('needs no bound for branches', async () => {
    const { step, inputs, dispose } = cases.get('a branch in a branch')![0]();
    const compiled = toStatic(step, { fullGraph: true });
    compiled(...inputs(0));
    const { text } = await exportStableHLO(compiled);
    expect(text.match(/stablehlo\.if/g)!.length).toBeGreaterThanOrEqual(4);
    dispose();
  });

  it('needs a bound for loops', async () => {
    const { step, inputs, dispose } = cases.get('captured weights')![0]();
    const compiled = toStatic(step, { fullGraph: true });
    compiled(...inputs(0));
    await expect(exportStableHLO(compiled)).rejects.toThrow(/whileBackward.*\n.*\n.*maxIterations/);
    for (const maxIterations of [0, 1.5, Number.NaN, 2 ** 31]) {
      await expect(exportStableHLO(compiled, { maxIterations })).rejects.toThrow(ArgumentError);
    }
    dispose();
  });
});
