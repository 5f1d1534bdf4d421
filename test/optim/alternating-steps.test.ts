/** Two steps that take turns with one optimizer, or with gradients of one another, are traced a fixed number of times. */

import { describe, expect, it } from 'vitest';
import { nn, optim, randn, seed, type Tensor, tidy, toStatic } from '../../src/index.ts';

type Step = (x: Tensor, z: Tensor) => Tensor;
type MakeOptimizer = (parameters: readonly Tensor[]) => optim.Optimizer;

const optimizers: Readonly<Record<string, MakeOptimizer>> = {
  SGD: (all) => new optim.SGD(all, { lr: 0.01 }),
  'SGD with momentum': (all) => new optim.SGD(all, { lr: 0.01, momentum: 0.9, nesterov: true }),
  Adam: (all) => new optim.Adam(all, { lr: 0.01 }),
  'Adam with amsgrad': (all) => new optim.Adam(all, { lr: 0.01, amsgrad: true }),
  AdamW: (all) => new optim.AdamW(all, { lr: 0.01 }),
  NAdam: (all) => new optim.NAdam(all, { lr: 0.01 }),
  RAdam: (all) => new optim.RAdam(all, { lr: 0.01 }),
  Adamax: (all) => new optim.Adamax(all, { lr: 0.01 }),
  Adadelta: (all) => new optim.Adadelta(all),
  Adafactor: (all) => new optim.Adafactor(all),
  Adagrad: (all) => new optim.Adagrad(all, { lr: 0.01 }),
  RMSprop: (all) => new optim.RMSprop(all, { lr: 0.01, momentum: 0.5, centered: true }),
  Rprop: (all) => new optim.Rprop(all, { lr: 0.01 }),
  ASGD: (all) => new optim.ASGD(all, { lr: 0.01 }),
};

/** The two steps of a generator and a discriminator. */
const pairs: Readonly<
  Record<
    string,
    (make: MakeOptimizer) => {
      readonly steps: readonly [Step, Step];
      readonly all: readonly Tensor[];
    }
  >
> = {
  'with one optimizer': (make) => {
    const [g, d] = [new nn.Linear(2, 2), new nn.Linear(2, 1)];
    const all = [...g.parameters(), ...d.parameters()];
    const optimizer = make(all);
    const finish = (loss: Tensor) => {
      loss.backward();
      optimizer.step();
      return loss;
    };
    return {
      all,
      steps: [
        (x, z) => {
          optimizer.zeroGrad();
          return finish(
            d
              .forward(x)
              .mean()
              .sub(d.forward(g.forward(z).detach()).mean()),
          );
        },
        (_x, z) => {
          optimizer.zeroGrad();
          return finish(d.forward(g.forward(z)).mean());
        },
      ],
    };
  },
  'with gradients of one another': (make) => {
    const [g, d] = [new nn.Linear(2, 2), new nn.Linear(2, 1)];
    const [ofG, ofD] = [make([...g.parameters()]), make([...d.parameters()])];
    return {
      all: [...g.parameters(), ...d.parameters()],
      steps: [
        (x, z) => {
          const loss = d
            .forward(x)
            .mean()
            .sub(d.forward(g.forward(z)).mean());
          loss.backward();
          ofD.step();
          ofD.zeroGrad();
          return loss;
        },
        (_x, z) => {
          const loss = d.forward(g.forward(z)).mean();
          loss.backward();
          ofG.step();
          ofG.zeroGrad();
          return loss;
        },
      ],
    };
  },
};

const alternations = 50;

/** Losses and parameters, with what stats tell after each few alternations. */
function trained(
  { steps, all }: ReturnType<(typeof pairs)[string]>,
  traces: () => number = () => 0,
): { readonly bits: number[][]; readonly traced: number[] } {
  seed(3);
  const traced: number[] = [];
  const bits: number[][] = [];
  for (let i = 0; i < alternations; i++) {
    tidy(() => {
      const [x, z] = [randn([4, 2]), randn([4, 2])];
      for (const step of steps) bits.push([...step(x, z).dataSync()]);
    });
    if (i % 10 === 9) traced.push(traces());
  }
  return { bits: [...bits, ...all.map((each) => [...each.dataSync()])], traced };
}

describe.each(Object.keys(pairs))('steps that take turns %s', (pair) => {
  it.each(Object.keys(optimizers))('%s', (name) => {
    const make = () => {
      seed(1);
      return pairs[pair]!(optimizers[name]!);
    };
    const eager = trained(make()).bits;
    for (const captured of [[0, 1], [0], [1]]) {
      const { steps, all } = make();
      const graphs = steps.map((step) => toStatic(step));
      const own = steps.map((step, i) => (captured.includes(i) ? (graphs[i] as Step) : step));
      const { bits, traced } = trained({ steps: own as [Step, Step], all } as never, () =>
        graphs.reduce((sum, graph) => sum + graph.stats().translations, 0),
      );
      expect(bits).toEqual(eager);
      // As many after all of them as after the first ten.
      expect(traced, `captured: ${captured}`).toEqual(traced.map(() => traced[0]));
      // The first step has other gradients.
      expect(traced[0]).toBeLessThanOrEqual(8);
      for (const graph of graphs) expect(graph.stats().fallbacks).toEqual([]);
    }
  });
});
