/** Numbers that differ from call to call without another trace: equal to eager execution bit for bit. */

import { describe, expect, it } from 'vitest';
import {
  crossEntropy,
  memory,
  nn,
  noGrad,
  optim,
  randn,
  relu,
  seed,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { expectSameAsEager, values, weights } from './same-as-eager.ts';

const numbers = [2.5, 3.25, -7, 0.1, 1e-9, 3, 0, -0, 1, 12345.678, -0.5];

describe('trace/symbolic-numbers', () => {
  const operations: Readonly<Record<string, (x: Tensor, n: number) => Tensor>> = {
    add: (x, n) => x.add(n),
    sub: (x, n) => x.sub(n),
    mul: (x, n) => x.mul(n),
    div: (x, n) => x.div(n),
    clamp: (x, n) => x.clamp(-n, n + 0.5),
    lerp: (x, n) => x.lerp(x.mul(x), n),
    addcmul: (x, n) => x.addcmul(x, x, n),
    addcdiv: (x, n) => x.addcdiv(x, x.add(3), n),
    gt: (x, n) => x.gt(n).to('float32'),
    maskedFill: (x, n) => x.maskedFill(x.gt(0), n),
    'several, from one expression': (x, n) => x.mul(1 - n).add(x.mul(n / 2).sub(n ** 3)),
    'functions of Math': (x, n) => x.mul(Math.sqrt(Math.abs(n)) + Math.max(n, 1, 2) + Math.sin(n)),
  };

  it('Object.is tells zeros apart, as numbers that were read and as arguments', () => {
    const pairs = [1, 0, -0, Number.NaN].flatMap((a, _, all) => all.map((b) => [a, b] as const));
    const read = toStatic((x: Tensor) => {
      const [a, b] = [x.select(0, 0).itemSync(), x.select(0, 1).itemSync()];
      return Object.is(a, b);
    });
    const given = toStatic((x: Tensor, a: number, b: number) => [x.neg(), Object.is(a, b)]);
    for (const [a, b] of pairs) {
      tidy(() => {
        expect(read(tensor([a, b]))).toBe(Object.is(a, b));
        expect(given(tensor([1]), a, b)[1]).toBe(Object.is(a, b));
      });
    }
  });

  for (const [name, operation] of Object.entries(operations)) {
    it(`${name}: gradients too, in two translations`, () => {
      const { stats, translations } = expectSameAsEager(
        () => ({
          fn: (x: Tensor, n: number) => operation(x.mul(2), n),
          args: (call) => [weights([5]), numbers[call]],
        }),
        { calls: numbers.length },
      );
      expect(stats.fallbacks).toEqual([]);
      expect(stats.breaks).toEqual([]);
      expect(translations[1]).toBe(2);
      expect(translations[5]).toBe(2);
      expect(stats.translations).toBe(2);
    });
  }

  it('in place: add_ with alpha, mul_, fill_, addcdiv_', () => {
    const { translations, stats } = expectSameAsEager(
      () => {
        const state = values([4], 3);
        return {
          fn: (x: Tensor, n: number) => {
            state.mul_(n).add_(x, n / 3);
            state.addcmul_(x, x, 1 - n);
            state.addcdiv_(x, x.add(2), -n);
            x.fill_(n * 2);
            return state.sum();
          },
          args: (call) => [values([4]), [0.5, 0.25, 0.75, 1.5, 2, 3][call]],
          state: () => state,
        };
      },
      { calls: 6 },
    );
    expect(translations).toEqual([1, 2, 2, 2, 2, 2]);
    expect(stats.breaks).toEqual([]);
  });

  it('an exponent is one of the numbers that a run computes', () => {
    const { translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, n: number) => x.pow(n),
        args: (call) => [weights([4]), [2, 3, 4, 3][call]],
      }),
      { calls: 4 },
    );
    expect(translations).toEqual([1, 2, 2, 2]);
  });

  it('an integer tensor asks for the number, which decides the dtype', () => {
    expectSameAsEager(
      () => ({
        fn: (x: Tensor, n: number) => x.to('int32').mul(n),
        args: (call) => [values([4]).mul(9), [2, 3, 2.5, 4, 3.5, 5][call]],
      }),
      { calls: 6 },
    );
  });

  it('what a branch decided holds for every number on its side', () => {
    const { translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, n: number) => (n * 2 < 9 ? x.mul(n) : x.sub(n)),
        args: (call) => [values([2]), [2, 3, 4, 2.5, 7, 8, 9, 4.25][call]],
      }),
      { calls: 8 },
    );
    expect(translations).toEqual([1, 2, 2, 2, 3, 3, 3, 3]);
  });

  it('a number that is indexed with, or spelled out, is guarded by its value', () => {
    const { translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor[], n: number) => [x[n]!.mul(2), `${n}`],
        args: (call) => [[values([1]), values([2]), values([3]), values([4])], [2, 3, 2, 3][call]],
      }),
      { calls: 4 },
    );
    expect(translations).toEqual([1, 2, 2, 2]);
  });

  it('results, comparisons and closures carry numbers out', () => {
    const { translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, n: number, o: { n: number }) => {
          o.n = n * 3;
          const double = () => n * 2;
          return [x.add(n), n + 1, n > 4, [-n, { n }], double(), n === 5, Math.floor(n / 2)];
        },
        args: (call) => [values([2]), [2, 3, 4, 5, 6][call], { n: 0 }],
      }),
      { calls: 5 },
    );
    expect(translations).toEqual([1, 2, 2, 2, 2]);
  });

  it('what is no number any more is a miss', () => {
    expectSameAsEager(
      () => ({
        fn: (x: Tensor, n: number) => [x.add(1), n * 2],
        args: (call) => [values([2]), [2, 3, 4, '5', null, undefined, true, 3n, 6][call % 9]],
      }),
      { calls: 18 },
    );
  });

  it('two backwards see the numbers of their own forwards', () => {
    const scale = toStatic((x: Tensor, n: number) =>
      x
        .mul(n)
        .mul(n + 1)
        .sum(),
    );
    const w = weights([3]);
    for (const n of [2, 3]) scale(w, n).dispose();
    const [first, second] = [scale(w, 5), scale(w, 7)];
    expect(scale.stats().translations).toBe(2);
    second.backward();
    expect([...w.grad!.dataSync()]).toEqual([56, 56, 56]);
    first.backward();
    expect([...w.grad!.dataSync()]).toEqual([86, 86, 86]);
  });

  it('with dynamic: false each number has an entry, with true the first one is symbolic already', () => {
    const counts = ([false, true] as const).map((dynamic) => {
      const f = toStatic((x: Tensor, n: number) => x.mul(n), { dynamic });
      for (const n of [2, 3, 4, 5]) f(values([2]), n);
      return f.stats().translations;
    });
    expect(counts).toEqual([4, 1]);
  });

  it('explain() shows the expression that was decided on', () => {
    const f = toStatic((x: Tensor, o: { rate: number }) => (o.rate / 2 < 4 ? x.mul(o.rate) : x));
    for (const rate of [2, 3, 4]) f(values([2]), { rate });
    expect(f.explain({ guards: true })).toContain('guard:  (o.rate / 2) < 4');
  });
});

class Mlp extends nn.Module {
  first = new nn.Linear(6, 16);
  second = new nn.Linear(16, 4);
  override forward(x: Tensor): Tensor {
    return this.second.forward(relu(this.first.forward(x)));
  }
}

type MakeOptimizer = (model: Mlp) => optim.Optimizer;

const optimizers: Readonly<Record<string, MakeOptimizer>> = {
  Adam: (model) => new optim.Adam(model.parameters(), { lr: 0.01 }),
  'Adam with amsgrad and decay': (model) =>
    new optim.Adam(model.parameters(), { lr: 0.01, amsgrad: true, weightDecay: 0.1 }),
  AdamW: (model) => new optim.AdamW(model.parameters(), { lr: 0.01 }),
  RMSprop: (model) => new optim.RMSprop(model.parameters(), { lr: 0.01, momentum: 0.9 }),
  Adagrad: (model) => new optim.Adagrad(model.parameters(), { lr: 0.01, lrDecay: 0.1 }),
  SGD: (model) => new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9, dampening: 0.5 }),
};

function train(
  make: MakeOptimizer,
  prepare: <F extends (x: Tensor, y: Tensor) => Tensor>(f: F) => F,
) {
  seed(5);
  const [x, target, model] = [
    randn([8, 6]),
    tensor(Int32Array.of(0, 3, 1, 2, 3, 0, 1, 2)),
    new Mlp(),
  ];
  const optimizer = make(model);
  const schedule = new optim.ExponentialLR(optimizer, 0.9);
  const step = prepare((input: Tensor, labels: Tensor) => {
    const loss = crossEntropy(model.forward(input), labels);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  });
  const start = memory.stats('cpu').allocated;
  const losses: number[] = [];
  const growth: number[] = [];
  for (let i = 0; i < 8; i++) {
    const loss = step(x, target);
    losses.push(loss.itemSync());
    loss.dispose();
    schedule.step();
    growth.push(memory.stats('cpu').allocated - start);
  }
  const state = Object.values(optimizer.stateDict().state).flat();
  const end = [...model.parameters(), ...state].map((t) => [...t.dataSync()]);
  const { counts } = optimizer;
  noGrad(() => model.dispose());
  optimizer.dispose();
  for (const held of [x, target]) held.dispose();
  return { losses, end, counts, growth };
}

describe('trace/training-step with a schedule', () => {
  it.each(Object.entries(optimizers))(
    '%s is one graph in at most two translations',
    (_name, make) => {
      const eager = train(make, (f) => ((x: Tensor, y: Tensor) => tidy(() => f(x, y))) as typeof f);
      let captured: { stats(): { translations: number } } | undefined;
      const result = train(make, (f) => {
        const run = toStatic(f);
        captured = run;
        return run;
      });
      expect(result).toEqual(eager);
      expect(captured!.stats()).toMatchObject({ breaks: [], fallbacks: [] });
      expect(captured!.stats().translations).toBeLessThanOrEqual(2);
    },
  );
});

describe('a start that counts from either end', () => {
  const starts = [0, -2, 2, -4, -3, 1];

  it.each([{}, { capture: 'auto' }, { fullGraph: true }] as const)('%j', (options) => {
    const args = (call: number) => [values([4, 3], call), starts[call]];
    const fn = (x: Tensor, start: number) => x.narrow(0, start, 1).mul(x.narrow(-2, start, 1));
    expectSameAsEager(() => ({ fn, args }), { calls: starts.length, ...options });
    const read = (x: Tensor, start: Tensor) => x.narrow(0, start.itemSync(), 2).mul(2);
    expectSameAsEager(
      () => ({
        fn: read,
        args: (call) => [values([4, 3], call), tensor(starts[call] ?? 0)],
      }),
      { calls: starts.length, ...options },
    );
  });
});
