import { afterAll, describe, expect, it } from 'vitest';
import {
  ArgumentError,
  AutogradError,
  type CapturedStats,
  crossEntropy,
  memory,
  nn,
  noGrad,
  ones,
  optim,
  randn,
  relu,
  ShapeError,
  seed,
  type Tensor,
  type TostaticError,
  tensor,
  tidy,
  toStatic,
  zeros,
} from '../../src/index.ts';

const firstLine = ({ message }: Error): string => message.split('\n', 1)[0]!;

function thrownBy(body: () => void): TostaticError | null {
  try {
    body();
    return null;
  } catch (error) {
    return error as TostaticError;
  }
}

class Mlp extends nn.Module {
  first = new nn.Linear(6, 16);
  second = new nn.Linear(16, 4);
  override forward(x: Tensor): Tensor {
    return this.second.forward(relu(this.first.forward(x)));
  }
}

interface Training {
  readonly losses: number[];
  readonly parameters: number[][];
  /** Bytes allocated after each step, above those before the first. */
  readonly growth: number[];
  readonly peaks: number[];
}

type Step = (x: Tensor, target: Tensor) => Tensor;

function train(
  makeOptimizer: (model: Mlp) => optim.Optimizer,
  prepare: (step: Step) => Step,
): Training {
  seed(5);
  const [x, target, model] = [
    randn([8, 6]),
    tensor(Int32Array.of(0, 3, 1, 2, 3, 0, 1, 2)),
    new Mlp(),
  ];
  const optimizer = makeOptimizer(model);
  const run = prepare((input, labels) => {
    const loss = crossEntropy(model.forward(input), labels);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  });
  const start = memory.stats('cpu').allocated;
  const [losses, growth, peaks]: [number[], number[], number[]] = [[], [], []];
  for (let i = 0; i < 6; i++) {
    memory.reset('cpu');
    const loss = run(x, target);
    losses.push(loss.itemSync());
    loss.dispose();
    growth.push(memory.stats('cpu').allocated - start);
    peaks.push(memory.stats('cpu').peakAllocated - start);
  }
  const parameters = [...model.parameters()].map((p) => [...p.dataSync()]);
  for (const held of [x, target]) held.dispose();
  optimizer.dispose();
  model.dispose();
  return { losses, parameters, growth, peaks };
}

const optimizers = {
  SGD: (model: Mlp) => new optim.SGD(model.parameters(), { lr: 0.3 }),
  'SGD with momentum and decay': (model: Mlp) =>
    new optim.SGD(model.parameters(), {
      lr: 0.1,
      momentum: 0.9,
      weightDecay: 0.01,
      nesterov: true,
    }),
} as const;

describe('trace/training-step', () => {
  const before = memory.stats('cpu').allocated;
  afterAll(() => expect(memory.stats('cpu').allocated).toBeGreaterThanOrEqual(before));

  it.each(Object.entries(optimizers))('forward, backward and %s are one graph', (_name, make) => {
    const eager = train(make, (step) => (x, y) => tidy(() => step(x, y)));
    let stats: CapturedStats | undefined;
    const captured = train(make, (step) => {
      const run = toStatic(step);
      return (x, y) => {
        const loss = run(x, y);
        stats = run.stats();
        return loss;
      };
    });
    expect(stats).toMatchObject({ translations: 1, graphs: 1, breaks: [], fallbacks: [] });
    expect(captured.losses).toEqual(eager.losses);
    expect(captured.parameters).toEqual(eager.parameters);
    // Nothing outlives a step, not even the first.
    expect(new Set(captured.growth)).toEqual(new Set([0]));
    expect(Math.max(...captured.peaks)).toBeLessThan(Math.max(...eager.peaks));
  });

  it('gradients are left in .grad and accumulate in place', () => {
    const w = randn([3, 3]).requiresGrad_();
    const x = randn([2, 3]);
    const step = toStatic((input: Tensor) => {
      const loss = input.matmul(w).pow(2).sum();
      loss.backward();
      return loss;
    });
    const eagerStep = (input: Tensor) => input.matmul(w).pow(2).sum().backward();
    eagerStep(x);
    eagerStep(x);
    const expected = [...w.grad!.dataSync()];
    w.grad = null;
    step(x);
    const first = w.grad;
    step(x);
    expect([...w.grad!.dataSync()]).toEqual(expected);
    expect(w.grad).toBe(first);
    expect(step.stats()).toMatchObject({ translations: 2, breaks: [] });
  });

  it('two parameters with one gradient have memory of their own', () => {
    const [a, b] = [zeros([4]).requiresGrad_(), zeros([4]).requiresGrad_()];
    const step = toStatic(() => a.add(b).sum().backward());
    step();
    noGrad(() => a.grad!.add_(ones([4])));
    expect([...a.grad!.dataSync()]).toEqual([2, 2, 2, 2]);
    expect([...b.grad!.dataSync()]).toEqual([1, 1, 1, 1]);
  });

  it('a loss whose graph was used up inside can not be differentiated again', () => {
    const w = randn([3]).requiresGrad_();
    const step = toStatic(() => {
      const loss = w.pow(2).sum();
      loss.backward();
      return loss;
    });
    expect(() => step().backward()).toThrow(AutogradError);
  });

  it('a break in the middle leaves everything as eager does', () => {
    const log: number[] = [];
    const run = (capture: boolean) => {
      seed(9);
      const w = randn([4, 4]).requiresGrad_();
      const optimizer = new optim.SGD([w], { lr: 0.1 });
      const step = (x: Tensor) => {
        const loss = x.matmul(w).pow(2).mean();
        loss.backward();
        log.push(loss.itemSync());
        optimizer.step();
        optimizer.zeroGrad();
        return loss.detach();
      };
      const called = capture ? toStatic(step) : step;
      for (let i = 0; i < 3; i++) called(ones([2, 4]));
      return [...w.dataSync()];
    };
    const eager = run(false);
    expect(run(true)).toEqual(eager);
    expect(log.slice(3)).toEqual(log.slice(0, 3));
  });

  it('a write in place under noGrad is seen through views and by the caller', () => {
    const x = zeros([2, 3]);
    const f = toStatic((t: Tensor) => {
      const row = t.select(0, 1);
      noGrad(() => {
        row.add_(2);
        t.mul_(3);
      });
      return row.sum();
    });
    expect(f(x).itemSync()).toBe(18);
    expect([...x.dataSync()]).toEqual([0, 0, 0, 6, 6, 6]);
    expect(f.stats()).toMatchObject({ graphs: 1, breaks: [] });
  });

  it('a saved value that is written in place matters only to a backward, as in eager execution', () => {
    const w = ones([3]).requiresGrad_();
    const fn = (x: Tensor) => {
      const y = x.mul(w);
      noGrad(() => x.add_(1));
      return y.sum();
    };
    const f = toStatic(fn, { fullGraph: true });
    const [eagerly, captured] = [fn, f].map((run) => {
      const x = ones([3]);
      const total = run(x);
      expect(total.itemSync()).toBe(3);
      expect([...x.dataSync()]).toEqual([2, 2, 2]);
      return thrownBy(() => total.backward());
    });
    expect(eagerly).toBeInstanceOf(AutogradError);
    expect(captured).toMatchObject({ name: eagerly!.name, given: eagerly!.given });
    expect(firstLine(captured!)).toBe(firstLine(eagerly!));
    expect(f.stats()).toMatchObject({ graphs: 1, fallbacks: [] });
  });

  it('results beside one that needs an overwritten value keep their gradients', () => {
    const w = ones([3]).requiresGrad_();
    const fn = (x: Tensor) => {
      const [over, beside] = [x.mul(w), w.exp()];
      noGrad(() => x.add_(1));
      return [over, beside] as const;
    };
    const f = toStatic(fn);
    const gradients = [fn, f].map((run) => {
      w.grad = null;
      const [over, beside] = run(ones([3]));
      expect(over.requiresGrad && !over.isLeaf).toBe(true);
      beside.sum().backward();
      const gradient = [...w.grad!.dataSync()];
      expect(() => over.sum().backward()).toThrow(AutogradError);
      return gradient;
    });
    expect(gradients[1]).toEqual(gradients[0]);
    expect(f.stats()).toMatchObject({ graphs: 1, fallbacks: [] });
  });

  it('what is stored inside a tidy around the call goes with it, but for gradients', () => {
    const w = ones([3]).requiresGrad_();
    const state = { last: null as Tensor | null };
    const fn = () => {
      const y = w.mul(2);
      y.sum().backward();
      state.last = y;
    };
    for (const run of [fn, toStatic(fn)]) {
      tidy(run);
      expect(state.last!.disposed).toBe(true);
      expect([...w.grad!.dataSync()]).toEqual([2, 2, 2]);
      w.grad = null;
    }
  });

  it('a saved value that is written in place makes backward fail as in eager execution', () => {
    const w = ones([3]).requiresGrad_();
    const step = (x: Tensor) => {
      const loss = x.mul(w).sum();
      noGrad(() => x.add_(1));
      loss.backward();
    };
    expect(() => step(ones([3]))).toThrow(AutogradError);
    expect(() => toStatic(step)(ones([3]))).toThrow(AutogradError);
  });
});

describe('trace/failures', () => {
  it('a write in place of a larger operand is refused, and nothing is written', () => {
    const target = zeros([1, 3]);
    const write = toStatic((x: Tensor) => {
      target.add_(x);
    });
    expect(() => write(ones([2, 3]))).toThrow(ShapeError);
    expect([...target.dataSync()]).toEqual([0, 0, 0]);
    write(ones([3]));
    expect([...target.dataSync()]).toEqual([1, 1, 1]);
  });

  it('a kernel that refuses its values before any write runs again natively, once', () => {
    const w = zeros([2, 3]).requiresGrad_();
    const step = toStatic((labels: Tensor) => {
      const loss = crossEntropy(w, labels);
      noGrad(() => w.add_(1));
      return loss;
    });
    step(tensor(Int32Array.of(0, 2)));
    expect(() => step(tensor(Int32Array.of(0, 7)))).toThrow(ArgumentError);
    expect([...w.dataSync()]).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it('a kernel that refuses its values after a write does not write twice', () => {
    const w = zeros([2, 3]);
    const step = toStatic((labels: Tensor) => {
      w.add_(1);
      return crossEntropy(w, labels);
    });
    step(tensor(Int32Array.of(0, 2)));
    expect(() => step(tensor(Int32Array.of(0, 7)))).toThrow(ArgumentError);
    expect([...w.dataSync()]).toEqual([2, 2, 2, 2, 2, 2]);
  });
});

describe('trace/effects', () => {
  it('writes to outer objects are made after the graph, once, without a break', () => {
    const state = { count: 0, last: null as Tensor | null, deep: { flag: false } };
    const f = toStatic((x: Tensor) => {
      const y = x.mul(2);
      state.count = state.count + 1;
      state.last = y;
      state.deep.flag = true;
      return y.add(state.count);
    });
    const x = ones([2]);
    expect([...f(x).dataSync()]).toEqual([3, 3]);
    expect(state).toMatchObject({ count: 1, deep: { flag: true } });
    expect([...f(x).dataSync()]).toEqual([4, 4]);
    expect(state.count).toBe(2);
    expect([...state.last!.dataSync()]).toEqual([2, 2]);
    expect(f.stats().breaks).toEqual([]);
  });

  it('reads come before writes: swapping two properties', () => {
    const pair = { a: ones([1]), b: zeros([1]) };
    const { a, b } = pair;
    const swap = toStatic((x: Tensor) => {
      const old = pair.a;
      pair.a = pair.b;
      pair.b = old;
      return [x.add(1), old];
    });
    expect(swap(ones([1]))[1]).toBe(a);
    expect(pair.a).toBe(b);
    expect(pair.b).toBe(a);
  });

  it('one object under two names is another entry than two objects', () => {
    const f = toStatic((p: { n: number }, q: { n: number }, x: Tensor) => {
      p.n = 5;
      return x.add(q.n);
    });
    const [one, two] = [{ n: 1 }, { n: 2 }];
    expect(f(one, two, zeros([1])).itemSync()).toBe(2);
    expect(f(two, two, zeros([1])).itemSync()).toBe(5);
  });

  it('setters, frozen objects and arrays are written natively', () => {
    const seen: number[] = [];
    const target = {
      set value(n: number) {
        seen.push(n);
      },
    };
    const list: number[] = [];
    const f = toStatic((x: Tensor) => {
      target.value = 3;
      list[0] = 4;
      return x.add(1);
    });
    f(ones([1]));
    expect(seen).toEqual([3]);
    expect(list).toEqual([4]);
    const frozen = Object.freeze({ n: 1 }) as { n: number };
    const g = toStatic((x: Tensor) => {
      frozen.n = 2;
      return x;
    });
    expect(() => g(ones([1]))).toThrow(TypeError);
  });
});
