/** Parameters stay parameters while they are frozen. */

import { describe, expect, it } from 'vitest';
import { memory, nn, optim, randn, seed, type Tensor, tidy, toStatic } from '../../src/index.ts';

class Block extends nn.Module {
  readonly inner = new nn.Linear(3, 3);
  readonly norm = new nn.BatchNorm1d(3);
  readonly list = new nn.ParameterList([randn([3])]);
  /** Not wrapped in parameter(): becomes one when it is found. */
  readonly scale = randn([3]).requiresGrad_();

  override forward(x: Tensor): Tensor {
    return this.norm.forward(this.inner.forward(x)).mul(this.scale).add(this.list.items[0]!);
  }
}

const sameTensors = (a: readonly Tensor[], b: readonly Tensor[]): boolean =>
  a.length === b.length && a.every((own, i) => own === b[i]);

const freezings: Readonly<Record<string, (model: nn.Module, frozen: boolean) => void>> = {
  'the module': (model, frozen) => void model.requiresGrad_(!frozen),
  'each of parameters()': (model, frozen) => {
    for (const parameter of model.parameters()) parameter.requiresGrad_(!frozen);
  },
  'a submodule': (model, frozen) => {
    for (const child of model.children()) child.requiresGrad_(!frozen);
  },
};

describe.each(Object.entries(freezings))('freezing by %s', (_name, freeze) => {
  it('keeps parameters(), names, state and what an optimizer sees', () => {
    tidy(() => {
      const model = new Block();
      const [all, names] = [model.parameters(), [...model.namedParameters()].map(([name]) => name)];
      const state = Object.keys(model.stateDict());
      expect(names.length).toBe(6);
      freeze(model, true);
      expect(sameTensors(model.parameters(), all)).toBe(true);
      expect([...model.namedParameters()].map(([name]) => name)).toEqual(names);
      expect(Object.keys(model.stateDict())).toEqual(state);
      const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
      expect(sameTensors(optimizer.parameters, all)).toBe(true);
      freeze(model, false);
      expect(all.every(({ requiresGrad }) => requiresGrad)).toBe(true);
      model.dispose();
      optimizer.dispose();
    });
  });

  it('survives to(), and a state dict loads into what is frozen', () => {
    tidy(() => {
      const [model, other] = [new Block(), new Block()];
      const names = [...model.namedParameters()].map(([name]) => name);
      freeze(model, true);
      model.to('float64');
      expect([...model.namedParameters()].map(([name]) => name)).toEqual(names);
      other.to('float64');
      model.loadStateDict(other.stateDict());
      expect([...model.scale.dataSync()]).toEqual([...other.scale.dataSync()]);
      model.dispose();
      other.dispose();
    });
  });
});

/** Freezes the first layer for the steps 2 and 3, by index. */
function train(isCaptured: boolean): number[][] {
  const before = memory.stats('cpu').allocated;
  seed(5);
  const [model, x] = [new Block(), randn([4, 3])];
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
  const step = (own: Tensor): void => {
    model.forward(own).mul(own).sum().backward();
    optimizer.step();
    model.zeroGrad();
  };
  const captured = toStatic(step);
  const seen: number[][] = [];
  for (let i = 0; i < 6; i++) {
    if (i === 2 || i === 4) model.inner.requiresGrad_(i === 4);
    if (isCaptured) captured(x);
    else tidy(() => step(x));
    seen.push(model.parameters().flatMap((own) => [...own.dataSync()]));
  }
  if (isCaptured) expect(captured.stats().breaks).toEqual([]);
  for (const own of [x, model, optimizer]) own.dispose();
  expect(memory.stats('cpu').allocated).toBe(before);
  return seen;
}

it('a frozen layer stays as it is, and learns again when thawed; captured, too', () => {
  const eager = train(false);
  const inner = (step: number) => eager[step]!.slice(0, 12);
  expect(inner(3)).toEqual(inner(1));
  expect(inner(4)).not.toEqual(inner(3));
  expect(train(true)).toEqual(eager);
});

describe('a tensor that is frozen before a module finds it', () => {
  class Scaled extends nn.Module {
    readonly inner = new nn.Linear(2, 2);
    constructor(readonly scale: Tensor) {
      super();
    }
    override forward(x: Tensor): Tensor {
      return this.inner.forward(x).mul(this.scale);
    }
  }

  it('is a parameter where it was made by parameter()', () => {
    tidy(() => {
      const scale = nn.parameter(randn([2]));
      scale.requiresGrad_(false);
      const model = new Scaled(scale);
      expect([...model.namedParameters()].map(([name]) => name)).toContain('scale');
      const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
      expect(optimizer.parameters.includes(scale)).toBe(true);
      model.requiresGrad_(true);
      expect(scale.requiresGrad).toBe(true);
    });
  });

  it('is an ordinary property otherwise, as in PyTorch, until it requires a gradient', () => {
    tidy(() => {
      const scale = randn([2]).requiresGrad_();
      scale.requiresGrad_(false);
      const model = new Scaled(scale);
      const names = () => [...model.namedParameters()].map(([name]) => name);
      expect(names()).toEqual(['inner.weight', 'inner.bias']);
      scale.requiresGrad_();
      expect(names()).toContain('scale');
    });
  });
});
