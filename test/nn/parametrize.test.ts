import { describe, expect, it } from 'vitest';
import { nn, optim, qr, randn, seed, type Tensor, tensor, toStatic } from '../../src/index.ts';

const { registerParametrization, removeParametrizations, isParametrized } = nn.utils;

class Symmetric extends nn.Module {
  override forward(x: Tensor): Tensor {
    return x.triu().add(x.triu(1).t());
  }
}

class Scaled extends nn.Module {
  factor = nn.parameter(tensor([2]));

  override forward(x: Tensor): Tensor {
    return x.mul(this.factor);
  }

  rightInverse(x: Tensor): Tensor {
    return x.div(this.factor);
  }
}

class Orthogonal extends nn.Module {
  override forward(x: Tensor): Tensor {
    return qr(x)[0];
  }
}

class Tripled extends nn.Module {
  override forward(x: Tensor): Tensor {
    return x.mul(3);
  }
}

const names = (module: nn.Module) => [...module.namedParameters()].map(([name]) => name);

describe('registerParametrization', () => {
  it('computes a parameter whenever it is read', () => {
    const layer = registerParametrization(new nn.Linear(3, 3), 'weight', new Symmetric());
    expect(layer.weight.tolist()).toEqual(layer.weight.t().tolist());
    expect(names(layer)).toEqual(['bias', 'parametrizations.weight.original']);
    const original = layer.getParameter('parametrizations.weight.original');
    original.detach().fill_(3);
    expect(layer.weight.tolist()).toEqual(Array(3).fill([3, 3, 3]));
    layer
      .forward(randn([2, 3]))
      .sum()
      .backward();
    expect(original.grad!.tril(-1).abs().sum().itemSync()).toBe(0);
    expect([isParametrized(layer), isParametrized(layer, 'bias')]).toEqual([true, false]);
    const gru = new nn.GRU(3, 3);
    const outer = new nn.ModuleList([gru, layer]);
    expect([gru, outer].map((each) => isParametrized(each))).toEqual([false, false]);
    registerParametrization(gru, 'weightIhL0', new Tripled());
    expect([gru, outer].map((each) => isParametrized(each))).toEqual([true, false]);
  });

  it('keeps the value where the parametrization has an inverse; several are applied in order', () => {
    const layer = new nn.Linear(2, 2);
    const before = layer.weight.tolist();
    registerParametrization(layer, 'weight', new Scaled());
    expect(layer.weight.tolist()).toEqual(before);
    expect(names(layer)).toContain('parametrizations.weight.0.factor');
    registerParametrization(layer, 'weight', new Symmetric());
    expect(layer.weight.tolist()).toEqual(layer.weight.t().tolist());
  });

  it('trains in one graph, to the bit, and its state is loaded', () => {
    const made = () => {
      seed(3);
      return registerParametrization(new nn.Linear(3, 3), 'weight', new Orthogonal());
    };
    const train = (capture: boolean) => {
      const layer = made();
      const optimizer = new optim.SGD(layer.parameters(), { lr: 0.1 });
      const step = (x: Tensor) => {
        optimizer.zeroGrad();
        const loss = layer.forward(x).sub(1).square().sum();
        loss.backward();
        optimizer.step();
        return loss.detach();
      };
      const called = capture ? toStatic(step, { fullGraph: true }) : step;
      const losses = Array.from({ length: 3 }, () => called(randn([4, 3])).itemSync());
      return { layer, losses };
    };
    const { layer, losses } = train(false);
    expect(train(true).losses).toEqual(losses);
    const other = made();
    other.loadStateDict(layer.stateDict());
    expect(other.weight.tolist()).toEqual(layer.weight.tolist());
    const unit = layer.weight.matmul(layer.weight.t()).diagonal().tolist() as number[];
    for (const own of unit) expect(own).toBeCloseTo(1, 5);
  });

  it('is removed with the value, or with the original', () => {
    const layer = registerParametrization(new nn.Linear(2, 2), 'weight', new Symmetric());
    const value = layer.weight.tolist();
    removeParametrizations(layer, 'weight');
    expect([layer.weight.tolist(), names(layer)]).toEqual([value, ['bias', 'weight']]);
    expect(isParametrized(layer)).toBe(false);
    const { weight } = layer;
    registerParametrization(layer, 'weight', new Symmetric());
    removeParametrizations(layer, 'weight', false);
    expect(layer.weight === weight).toBe(true);
  });

  it('says what does not fit', () => {
    const layer = new nn.Linear(2, 3);
    expect(() => registerParametrization(layer, 'weights', new Symmetric())).toThrow(
      /not a parameter/,
    );
    expect(() => registerParametrization(layer, 'weight', new nn.Flatten(0))).toThrow(
      /another shape/,
    );
    expect(() => removeParametrizations(layer, 'weight')).toThrow(/not a parametrized parameter/);
  });
});
