import { describe, expect, it } from 'vitest';
import { torchName } from '../../runtime/weights/index.ts';
import {
  ArgumentError,
  checkpoint,
  nn,
  noGrad,
  ones,
  optim,
  randn,
  seed,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';

const { removeWeightNorm, spectralNorm, weightNorm } = nn.utils;

function linearOf(rows: number[][]): nn.Linear {
  const layer = new nn.Linear(rows[0]!.length, rows.length, { bias: false });
  layer.weight = nn.parameter(tensor(rows));
  return layer;
}

const values = (x: Tensor) => x.toArraySync() as number[][];

/** Losses and state of some steps, of which captured ones are one graph from the second on. */
function train(make: () => nn.Layer, capture: boolean) {
  seed(5);
  const model = make();
  const optimizer = new optim.Adam(model.parameters(), { lr: 0.05 });
  const step = (x: Tensor) => {
    const loss = model.forward(x).square().mean();
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    return loss.detach();
  };
  const called = capture ? toStatic(step, { fullGraph: true }) : step;
  const losses = Array.from({ length: 4 }, () => called(randn([3, 4])).itemSync());
  const state = Object.entries(model.stateDict()).map(([name, own]) => [name, values(own)]);
  return { losses, state };
}

describe('nn.utils.weightNorm', () => {
  it('computes the weight of a length for each output, and a direction', () => {
    const layer = weightNorm(
      linearOf([
        [3, 4],
        [0, 2],
      ]),
    );
    expect(
      values(
        layer.forward(
          tensor([
            [1, 0],
            [0, 1],
          ]),
        ),
      ),
    ).toEqual([
      [3, 0],
      [4, 2],
    ]);
    const own = Object.fromEntries(layer.namedParameters());
    expect(Object.keys(own).sort()).toEqual(['weightG', 'weightV']);
    expect(values(own.weightG!)).toEqual([[5], [2]]);
    own.weightG!.detach().fill_(10);
    expect(values(layer.forward(tensor([[1, 0]])))[0]![0]).toBeCloseTo(6, 6);
  });

  it('gives the direction a gradient at right angles to it', () => {
    seed(2);
    const layer = weightNorm(new nn.Linear(4, 3));
    layer
      .forward(randn([5, 4]))
      .square()
      .sum()
      .backward();
    const { weightV } = Object.fromEntries(layer.namedParameters());
    const along = weightV!.grad!.mul(weightV!.detach()).sum(1);
    for (const part of along.dataSync() as Float32Array) expect(Math.abs(part)).toBeLessThan(1e-4);
    expect(weightV!.grad!.abs().sum().itemSync()).toBeGreaterThan(0.1);
  });

  it('may have one length for all, and is removed with the value that it has', () => {
    const layer = weightNorm(
      linearOf([
        [3, 0],
        [0, 4],
      ]),
      'weight',
      null,
    );
    expect(Object.fromEntries(layer.namedParameters()).weightG!.itemSync()).toBe(5);
    layer.forward(ones([1, 2]));
    removeWeightNorm(layer);
    expect(layer.namedParameters().next().value![0]).toBe('weight');
    expect(layer.parameters().length).toBe(1);
    expect(values(layer.weight)).toEqual([
      [3, 0],
      [0, 4],
    ]);
    expect(values(layer.forward(ones([1, 2])))).toEqual([[3, 4]]);
  });

  it('refuses a property that is no weight, or is normed already', () => {
    const layer = weightNorm(new nn.Linear(2, 2));
    expect(() => weightNorm(layer)).toThrow(ArgumentError);
    expect(() => weightNorm(layer, 'scale')).toThrow(ArgumentError);
    expect(() => removeWeightNorm(new nn.Linear(2, 2))).toThrow(ArgumentError);
  });

  it('refuses a weight that a parametrization computes, as spectralNorm does', () => {
    const linear = new nn.Linear(2, 2);
    const layer = nn.utils.registerParametrization(linear, 'weight', new nn.Tanh());
    expect(() => weightNorm(layer)).toThrow(/weightNorm: the weight is computed/);
    expect(() => spectralNorm(layer)).toThrow(/spectralNorm: the weight is computed/);
    expect(Object.keys(layer.stateDict()).sort()).toEqual([
      'bias',
      'parametrizations.weight.original',
    ]);
  });
});

describe('nn.utils.spectralNorm', () => {
  it('divides the weight by its largest singular value', () => {
    seed(1);
    const layer = spectralNorm(
      linearOf([
        [3, 0],
        [0, 1],
      ]),
      'weight',
      { nPowerIterations: 30 },
    );
    const out = values(
      layer.forward(
        tensor([
          [1, 0],
          [0, 1],
        ]),
      ),
    );
    expect(out[0]![0]).toBeCloseTo(1, 5);
    expect(out[1]![1]).toBeCloseTo(1 / 3, 5);
    expect(Object.keys(layer.stateDict()).sort()).toEqual(['weightOrig', 'weightU', 'weightV']);
  });

  it('estimates it while training only', () => {
    seed(1);
    const layer = spectralNorm(new nn.Linear(4, 3));
    const { weightU } = Object.fromEntries(layer.namedBuffers());
    const before = values(weightU!);
    layer.eval().forward(ones([1, 4]));
    expect(values(weightU!)).toEqual(before);
    layer.train().forward(ones([1, 4]));
    expect(values(weightU!)).not.toEqual(before);
  });
});

it.each([
  ['weightNorm', () => weightNorm(new nn.Linear(4, 3))],
  ['weightNorm with one length', () => weightNorm(new nn.Linear(4, 3), 'weight', null)],
  ['spectralNorm', () => spectralNorm(new nn.Linear(4, 3))],
  [
    'both in one model',
    () => new nn.Sequential(weightNorm(new nn.Linear(4, 6)), spectralNorm(new nn.Linear(6, 2))),
  ],
])('captured steps of %s have the bits of eager ones', (_, make) => {
  expect(train(make, true)).toEqual(train(make, false));
});

it.each([
  ['tidy', (run: () => Tensor) => tidy(run)],
  ['checkpoint', (run: () => Tensor) => checkpoint(run)],
])('a computed weight is no parameter after %s has freed it', (_, around) => {
  for (const layer of [weightNorm(new nn.Linear(4, 3)), spectralNorm(new nn.Linear(4, 3))]) {
    const names = () => [
      [...layer.namedParameters()].map(([name]) => name),
      Object.keys(layer.stateDict()),
    ];
    const before = names();
    around(() => layer.forward(ones([2, 4])))
      .sum()
      .backward();
    expect(layer.weight.disposed).toBe(true);
    expect(names()).toEqual(before);
  }
});

describe('norms of cells', () => {
  const seen = (captured: boolean, change: (cell: nn.GRUCell) => unknown) => {
    seed(3);
    const gru = new nn.GRU(2, 3, { numLayers: 2 });
    for (const cell of gru.cells) change(cell);
    const fn = (x: Tensor) => gru.forward(x)[0];
    const run = captured ? toStatic(fn, { fullGraph: true }) : fn;
    const x = randn([4, 1, 2]);
    const outputs = [1, 2].map(() => {
      const y = run(x);
      y.sum().backward();
      noGrad(() => {
        for (const [name, own] of gru.namedParameters()) if (/IhL\dG/.test(name)) own.mul_(2);
      });
      return values(y);
    });
    return [outputs, [...gru.namedParameters()].map(([name, own]) => [name, own.grad?.tolist()])];
  };

  it('apply in recurrent modules, which call no forward of their cells', () => {
    const eager = seen(false, (cell) => weightNorm(cell, 'weightIh'));
    const [[first, second]] = eager as [[unknown, unknown], unknown];
    expect(second).not.toEqual(first);
    expect(JSON.stringify(eager)).not.toContain('null');
    expect(seen(true, (cell) => weightNorm(cell, 'weightIh'))).toEqual(eager);
    const spectral = seen(false, (cell) => spectralNorm(cell, 'weightHh'));
    expect(seen(true, (cell) => spectralNorm(cell, 'weightHh'))).toEqual(spectral);
  });

  it('are removed with their computation', () => {
    const gru = new nn.GRU(2, 3);
    const [cell] = gru.cells;
    weightNorm(cell!, 'weightIh');
    gru.forward(randn([2, 1, 2]));
    removeWeightNorm(cell!, 'weightIh');
    const { weightIh } = cell!;
    gru.forward(randn([2, 1, 2]));
    expect(cell!.weightIh).toBe(weightIh);
  });
});

describe('norms and parametrizations of recurrent weights', () => {
  const state = (of: nn.Module) => Object.keys(of.stateDict());
  const input = () => randn([3, 2, 4]);

  /** Doubles the weight that it computes. */
  class Doubled extends nn.Module {
    override forward(x: Tensor): Tensor {
      return x.mul(2);
    }
  }

  it('take the name that a weight has in the state', () => {
    tidy(() => {
      const gru = new nn.GRU(4, 3, { numLayers: 2, bidirectional: true });
      const x = input();
      const before = gru.forward(x)[0].toArraySync();
      expect(weightNorm(gru, 'weightHhL1Reverse')).toBe(gru);
      expect(gru.forward(x)[0].sub(tensor(before)).abs().max().itemSync()).toBeLessThan(1e-6);
      expect(state(gru)).toContain('weightHhL1ReverseG');
      expect(state(gru)).toContain('weightHhL1ReverseV');
      expect(state(gru)).not.toContain('weightHhL1Reverse');
      expect(() => weightNorm(gru, 'weightHhL1Reverse')).toThrow(ArgumentError);
      expect(() => weightNorm(gru, 'weightHhL2')).toThrow('weightHhL2 of a GRU');
      removeWeightNorm(gru, 'weightHhL1Reverse');
      expect(state(gru)).toContain('weightHhL1Reverse');
      expect(gru.forward(x)[0].sub(tensor(before)).abs().max().itemSync()).toBeLessThan(1e-6);
    });
  });

  it('act in spectralNorm, orthogonal and registerParametrization', () => {
    tidy(() => {
      const rnn = nn.utils.orthogonal(new nn.RNN(4, 3), 'weightHhL0');
      nn.utils.registerParametrization(rnn, 'weightIhL0', new Doubled());
      const own = ['weightHhL0.original', 'weightHhL0.0.base', 'weightIhL0.original'];
      expect(state(rnn)).toEqual(
        expect.arrayContaining(own.map((name) => `parametrizations.${name}`)),
      );
      expect(nn.utils.isParametrized(rnn, 'weightIhL0')).toBe(true);
      const x = input();
      const doubled = rnn.forward(x)[0].toArraySync();
      nn.utils.removeParametrizations(rnn, 'weightIhL0');
      expect(rnn.forward(x)[0].toArraySync()).toEqual(doubled);
      const lstm = spectralNorm(new nn.LSTM(4, 3), 'weightHhL0');
      expect(state(lstm)).toEqual(
        expect.arrayContaining(['weightHhL0Orig', 'weightHhL0U', 'weightHhL0V']),
      );
    });
  });

  it('compute each weight once per call, whatever the number of steps', () => {
    let count = 0;
    class Counted extends nn.Module {
      override forward(x: Tensor): Tensor {
        count++;
        return x.mul(2);
      }
    }
    const weights = ['weightIhL0', 'weightHhL0', 'biasHhL0', 'weightHrL0'];
    const rnns = [new nn.GRU(4, 3), new nn.RNN(4, 3), new nn.LSTM(4, 3, { projSize: 2 })];
    tidy(() => {
      for (const rnn of rnns) {
        const own = weights.filter((name) => name in rnn.stateDict());
        for (const name of own) nn.utils.registerParametrization(rnn, name, new Counted());
        const packed = nn.utils.packPaddedSequence(input(), [3, 2]);
        for (const run of [() => rnn.forward(input()), () => rnn.forwardPacked(packed)]) {
          count = 0;
          run();
          expect(count).toBe(own.length);
        }
      }
    });
  });

  it('train alike when captured', () => {
    const make = () => {
      const rnn = weightNorm(new nn.RNN(4, 3, { bidirectional: true }), 'weightHhL0Reverse');
      return new (class extends nn.Module {
        readonly rnn = rnn;
        override forward(x: Tensor): Tensor {
          return this.rnn.forward(x.unsqueeze(0))[0];
        }
      })();
    };
    expect(train(make, true)).toEqual(train(make, false));
  });
});

it("states with the names of PyTorch's parametrizations are loaded", () => {
  tidy(() => {
    const from = weightNorm(new nn.GRU(2, 3), 'weightHhL0');
    const spectral = spectralNorm(new nn.Linear(2, 3));
    const renamed = (module: nn.Module, names: Readonly<Record<string, string>>) =>
      Object.fromEntries(
        Object.entries(module.stateDict()).map(([name, own]) => [names[name] ?? name, own]),
      );
    const ofNorm = renamed(from, {
      weightHhL0G: 'parametrizations.weight_hh_l0.original0',
      weightHhL0V: 'parametrizations.weight_hh_l0.original1',
      weightIhL0: 'weight_ih_l0',
      biasIhL0: 'bias_ih_l0',
      biasHhL0: 'bias_hh_l0',
    });
    const ofSpectral = renamed(spectral, {
      weightOrig: 'parametrizations.weight.original',
      weightU: 'parametrizations.weight.0._u',
      weightV: 'parametrizations.weight.0._v',
    });
    const other = weightNorm(new nn.GRU(2, 3), 'weightHhL0');
    other.loadStateDict(ofNorm, { names: torchName });
    const loaded = spectralNorm(new nn.Linear(2, 3));
    loaded.loadStateDict(ofSpectral);
    for (const [a, b] of [
      [from, other],
      [spectral, loaded],
    ] as const) {
      const expected = Object.entries(a.stateDict()).map(([name, own]) => [name, values(own)]);
      expect(Object.entries(b.stateDict()).map(([name, own]) => [name, values(own)])).toEqual(
        expected,
      );
    }
    // A state with neither name is still refused.
    expect(() => loaded.loadStateDict({ bias: loaded.bias! })).toThrow('missing: weightOrig');
  });
});
