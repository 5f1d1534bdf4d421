import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { cat, memory, optim, type Tensor, tensor, tidy, toStatic } from '../../src/index.ts';

interface Recorded {
  readonly options: optim.LBFGSOptions;
  /** After each step: its loss, the calls of the closure so far, and all parameters. */
  readonly steps: readonly {
    readonly loss: number;
    readonly calls: number;
    readonly parameters: readonly number[];
  }[];
}

const recorded: readonly Recorded[] = JSON.parse(
  readFileSync(new URL('data/lbfgs-steps.json', import.meta.url), 'utf8'),
);

function problem(options: optim.LBFGSOptions, dtype: 'float32' | 'float64' = 'float64') {
  const a = tensor([-1.2, 1, 0.5], { dtype, requiresGrad: true });
  const b = tensor([[0.3, -0.4]], { dtype, requiresGrad: true });
  const optimizer = new optim.LBFGS([a, b], options);
  let calls = 0;
  /** Rosenbrock's valley. */
  const lossOf = () => {
    const x = cat([a, b.reshape([-1])]);
    const [head, tail] = [x.slice(0, 0, -1), x.slice(0, 1)];
    const valley = tail.sub(head.square()).square().mul(100);
    return head.neg().add(1).square().add(valley).sum();
  };
  const step = () =>
    optimizer.step(() => {
      calls++;
      optimizer.zeroGrad();
      const loss = lossOf();
      loss.backward();
      return loss;
    });
  const parameters = () => [a, b].flatMap((own) => [...own.dataSync()]);
  return { optimizer, step, parameters, calls: () => calls };
}

describe('LBFGS', () => {
  it.each(recorded)("takes PyTorch's steps with $options", ({ options, steps }) => {
    const { step, parameters, calls } = problem(options);
    for (const expected of steps) {
      const loss = tidy(() => step().itemSync());
      expect(loss).toBeCloseTo(expected.loss, 9);
      expect(calls()).toBe(expected.calls);
      parameters().forEach((own, i) => {
        expect(own).toBeCloseTo(expected.parameters[i]!, 9);
      });
    }
  });

  it('has the same bits in a captured function', () => {
    const [eager, other] = [problem({ maxIter: 3 }), problem({ maxIter: 3 })];
    const captured = toStatic(() => other.step());
    for (let i = 0; i < 2; i++) {
      eager.step();
      captured();
    }
    expect(other.parameters()).toEqual(eager.parameters());
  });

  it('continues from its state, and holds no other memory', () => {
    const before = memory.stats('cpu').allocated;
    const one = problem({ historySize: 3, lineSearchFn: 'strongWolfe', maxIter: 4 });
    const two = problem({ historySize: 3, lineSearchFn: 'strongWolfe', maxIter: 4 });
    const run = (...problems: (typeof one)[]) =>
      tidy(() => {
        for (const each of problems) each.step();
      });
    run(one, one);
    const held = memory.stats('cpu').allocated;
    tidy(() => {
      two.optimizer.loadStateDict(one.optimizer.stateDict());
      two.optimizer.parameters.forEach((own, i) => {
        own.detach().copy_(one.optimizer.parameters[i]!.detach());
      });
    });
    run(one, two);
    expect(two.parameters()).toEqual(one.parameters());
    expect(memory.stats('cpu').allocated).toBeGreaterThanOrEqual(held);
    for (const { optimizer } of [one, two]) {
      optimizer.zeroGrad();
      optimizer.dispose();
      for (const own of optimizer.parameters) own.dispose();
    }
    expect(memory.stats('cpu').allocated).toBe(before);
  });

  it('maximizes', () => {
    const x = tensor([3], { requiresGrad: true });
    const optimizer = new optim.LBFGS([x], { maximize: true, lineSearchFn: 'strongWolfe' });
    optimizer.step(() => {
      optimizer.zeroGrad();
      const height = x.sub(1).square().neg().sum();
      height.backward();
      return height;
    });
    expect(x.itemSync()).toBeCloseTo(1, 5);
  });

  it("leaves what the closure makes to the caller's tidy", () => {
    const before = memory.stats('cpu').allocated;
    const x = tensor([3], { requiresGrad: true });
    const optimizer = new optim.LBFGS([x], { lineSearchFn: 'strongWolfe', maxIter: 5 });
    tidy(() => {
      const losses: Tensor[] = [];
      optimizer.step(() => {
        optimizer.zeroGrad();
        const loss = x.sub(1).square().sum();
        losses.push(loss);
        loss.backward();
        return loss;
      });
      expect(losses.length).toBeGreaterThan(1);
      expect(losses.map((loss) => loss.itemSync()).at(-1)).toBeLessThan(4);
    });
    optimizer.zeroGrad();
    optimizer.dispose();
    x.dispose();
    expect(memory.stats('cpu').allocated).toBe(before);
  });

  it('says what it needs', () => {
    const x = tensor([1], { requiresGrad: true });
    const y = tensor([1], { requiresGrad: true });
    expect(() => new optim.LBFGS([{ params: [x] }, { params: [y] }])).toThrow(
      /LBFGS: several parameter groups/,
    );
    const optimizer = new optim.LBFGS([x]);
    expect(() => optimizer.step()).toThrow(/LBFGS: a step without a closure/);
    expect(() => optimizer.step(async () => {})).toThrow(/asynchronous/);
    expect(() => optimizer.loadStateDict(new optim.SGD([x], { lr: 1 }).stateDict())).toThrow(
      /other kinds of state/,
    );
    expect(() => new optim.LBFGS([x], { lineSearchFn: 'wolfe' as never })).toThrow(/lineSearchFn/);
  });

  it('the state is plain data and tensors', () => {
    const { optimizer, step } = problem({ maxIter: 3 });
    tidy(() => step());
    const { state } = optimizer.stateDict();
    const shapes = (list: readonly Tensor[]) => list.map(({ shape }) => shape);
    expect(shapes(state.direction!)).toEqual([[5]]);
    expect(shapes(state.changes!)).toEqual(shapes(state.moves!));
  });
});
