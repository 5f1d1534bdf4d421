import { describe, expect, it } from 'vitest';
import { grad, nn, randn, seed, type Tensor, tidy, toStatic } from '../../src/index.ts';

const model = () => {
  seed(2);
  return new nn.Sequential(new nn.Linear(2, 3), new nn.BatchNorm1d(3), new nn.Linear(3, 1));
};

const doubled = (module: nn.Module) =>
  Object.fromEntries(
    [...module.namedParameters()].map(([name, own]) => [name, own.detach().mul(2).requiresGrad_()]),
  );

describe('functionalCall', () => {
  it('computes with the given tensors, and leaves the module its own', () => {
    const own = model();
    const before = own.parameters();
    const other = model();
    const given = doubled(own);
    other.loadStateDict({ ...other.stateDict(), ...given });
    const x = randn([4, 2]);
    const found = nn.functionalCall(own, given, [x]) as Tensor;
    expect(found.tolist()).toEqual(other.forward(x).tolist());
    expect(own.parameters().every((each, i) => each === before[i])).toBe(true);
  });

  it('gradients go to the given tensors, also through how they were computed', () => {
    const own = new nn.Linear(2, 1, { bias: false });
    const rate = randn([]).requiresGrad_();
    const x = randn([3, 2]);
    const loss = (weight: Tensor) => (nn.functionalCall(own, { weight }, x) as Tensor).sum();
    const [first] = grad(loss(own.weight), own.weight, { createGraph: true });
    const [outer] = grad(loss(own.weight.sub(first!.mul(rate))), rate);
    // d/dr of Σ x · (w − r · Σ x).
    expect(outer!.itemSync()).toBeCloseTo(-x.sum(0).square().sum().itemSync(), 5);
  });

  it('shared tensors are replaced everywhere; buffers are written where they are given', () => {
    const layer = new nn.Linear(2, 2, { bias: false });
    const tied = new nn.Sequential(layer, layer);
    const weight = randn([2, 2]);
    const x = randn([1, 2]);
    const expected = x.matmul(weight.t()).matmul(weight.t());
    expect((nn.functionalCall(tied, { '0.weight': weight }, [x]) as Tensor).tolist()).toEqual(
      expected.tolist(),
    );
    const norm = new nn.BatchNorm1d(2);
    const runningMean = norm.runningMean!.clone();
    nn.functionalCall(norm, { runningMean }, randn([4, 2]));
    expect(norm.runningMean!.tolist()).toEqual([0, 0]);
    expect(runningMean.tolist()).not.toEqual([0, 0]);
  });

  it('is one program, to the bit', () => {
    const own = model();
    const given = doubled(own);
    const step = (x: Tensor) => {
      const loss = (nn.functionalCall(own, given, [x]) as Tensor).square().sum();
      return [loss, ...grad(loss, Object.values(given))];
    };
    const captured = toStatic(step, { fullGraph: true });
    const x = randn([4, 2]);
    const bits = (f: typeof step) => tidy(() => f(x).map((each) => each.tolist()));
    const before = own.getParameter('0.weight');
    for (let i = 0; i < 2; i++) expect(bits(captured)).toEqual(bits(step));
    expect(own.getParameter('0.weight')).toBe(before);
  });

  it('names a tensor that the module lacks, and restores after an error', () => {
    const own = model();
    const before = own.parameters();
    expect(() => nn.functionalCall(own, { weight: before[0]! }, [])).toThrow(
      /no such tensor of the module\n +given: +weight/,
    );
    expect(() => nn.functionalCall(own, doubled(own), [randn([4, 5])])).toThrow();
    expect(own.parameters().every((each, i) => each === before[i])).toBe(true);
  });
});
