/** Plans of deep models are as good as those of shallow ones, and take work in proportion to their ops. */

import { describe, expect, it } from 'vitest';
import type { Program } from '../../runtime/program/program.ts';
import { chooseSlices } from '../../src/5-optimize/slices/choose-slices.ts';
import { LiveBytes, profileOf, sourceOrder } from '../../src/7-plan/order/live-bytes.ts';
import { memoryGraph } from '../../src/7-plan/order/memory-graph.ts';
import { orderForMemory } from '../../src/7-plan/order/order.ts';
import { roughBytes } from '../../src/7-plan/plan.ts';
import {
  crossEntropy,
  deviceGuard,
  gelu,
  nn,
  noGrad,
  optim,
  type Tensor,
  toStatic,
  zeros,
} from '../../src/index.ts';
import { type PassRecord, passObservers } from '../../src/programs/pass-record.ts';
import { finish } from '../../src/programs/steps.ts';
import { traced } from './random-program.ts';

const [batch, width] = [128, 32];

/** Residual blocks of two kinds. */
const blocks: Record<string, () => nn.Module & { forward(x: Tensor): Tensor }> = {
  'linear layers around a GELU': () => new Perceptron(),
  'gates behind a norm': () => new Gates(),
};

class Perceptron extends nn.Module {
  norm = new nn.LayerNorm(width);
  up = new nn.Linear(width, 2 * width);
  down = new nn.Linear(2 * width, width);

  override forward(x: Tensor): Tensor {
    return x.add(this.down.forward(gelu(this.up.forward(this.norm.forward(x)))));
  }
}

class Gates extends nn.Module {
  norm = new nn.LayerNorm(width);
  value = new nn.Linear(width, width);
  gate = new nn.Linear(width, width);

  override forward(x: Tensor): Tensor {
    const y = this.norm.forward(x);
    return x.add(this.value.forward(y).tanh().mul(this.gate.forward(y).sigmoid()));
  }
}

interface Deep {
  readonly peak: number;
  readonly bound: number;
  /** The program that slices are chosen for. */
  readonly whole: Program | undefined;
}

function planned(kind: string, depth: number, isTraining: boolean): Deep {
  return deviceGuard('meta', () => {
    const model = new nn.Sequential(...Array.from({ length: depth }, blocks[kind]!));
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
    const step = (x: Tensor, labels: Tensor): Tensor => {
      const loss = crossEntropy(model.forward(x), labels);
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    };
    const infer = (x: Tensor): Tensor => noGrad(() => model.forward(x));
    const records: PassRecord[] = [];
    const unsubscribe = passObservers.subscribe((record) => {
      if (record.pass === 'slices') records.push(record);
    });
    const f = toStatic((isTraining ? step : infer) as typeof step, { memory: { prefer: 'bytes' } });
    const [x, labels] = [zeros([batch, width]), zeros([batch], { dtype: 'int32' })];
    f(x, labels).dispose();
    unsubscribe();
    const { predicted } = f.programs()[0]!.stages!.planned.forward;
    for (const each of [x, labels, optimizer, model]) each.dispose();
    const { peakBytes: peak, lowerBoundBytes: bound } = predicted;
    return { peak, bound, whole: records[0]?.before };
  });
}

describe.each(Object.keys(blocks))('a model of %s', (kind) => {
  const depths = [2, 6];

  it('takes as many bytes per block in training, whatever its depth', () => {
    const plans = depths.map((depth) => planned(kind, depth, true));
    for (const { peak, bound } of plans) expect(peak).toBeLessThan(1.15 * bound);
    const [shallow, ...deep] = plans.map(({ peak }, i) => peak / depths[i]!);
    for (const perBlock of deep) expect(perBlock).toBeLessThan(1.02 * shallow!);
    // The same where programs of this size are large: the slices are no fewer, and as many programs are counted.
    const wholes = plans.map(({ whole }) => whole!);
    const found = wholes.map((whole) => {
      let counted = 0;
      const costOf = (program: Program) => {
        counted += program.ops.length;
        return roughBytes(program);
      };
      const program = finish(chooseSlices(whole, costOf, true, { most: 1, growth: 5 }));
      return { growth: program.ops.length / whole.ops.length, effort: counted / whole.ops.length };
    });
    expect(found[0]!.growth).toBeGreaterThan(2);
    for (const { growth, effort } of found) {
      expect(growth).toBeGreaterThan(0.9 * found[0]!.growth);
      expect(effort).toBeLessThan(1.2 * found[0]!.effort);
    }
  });

  it('takes the same bytes in inference, whatever its depth', () => {
    const peaks = depths.map((depth) => planned(kind, depth, false).peak);
    expect(new Set(peaks).size).toBe(1);
  });
});

it('the largest programs in slices are bounded as tightly as small ones', () => {
  for (const layers of [60, 850]) {
    const program = traced((input) => {
      const total = input();
      return Array.from({ length: 8 }, () => {
        const values = [input()];
        for (let i = 0; i < layers; i++) values.push(values.at(-1)!.exp());
        let gradient = values.at(-1)!;
        for (const value of values.toReversed()) {
          gradient = gradient.mul(value);
          if (value !== values[0]) gradient = gradient.matmul(gradient);
        }
        return total.add_(gradient.sum());
      }).slice(-1);
    });
    const options = {
      keep: [],
      carried: new Map(),
      entering: () => ({ bytes: 0, exclusive: false }),
      reuse: true,
    };
    const { program: ordered, lowerBound } = finish(orderForMemory(program, options));
    const graph = memoryGraph(ordered, options);
    expect(graph.size > 20_000).toBe(layers > 60);
    const { peak } = profileOf(new LiveBytes(graph), sourceOrder(graph));
    expect(lowerBound()).toBeLessThanOrEqual(peak);
    expect(peak).toBeLessThan(1.02 * lowerBound());
  }
});
