import { describe, expect, it } from 'vitest';
import { Adam, AdamW } from '../../runtime/optim/adam.ts';
import { SGD } from '../../runtime/optim/sgd.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { expectClose, tensor } from '../ops/eager.ts';

const leaf = (values: number[]) => tensor(values, { requiresGrad: true });

describe('optimizers', () => {
  it('a parameter without gradient stays as it is', () => {
    using x = leaf([1, 2]);
    using y = leaf([3, 4]);
    using optimizer = new SGD([x, y], { lr: 0.5, momentum: 0.9, weightDecay: 1 });
    tidy(() => x.sum().backward());
    optimizer.step();
    expect([...y.dataSync()]).toEqual([3, 4]);
    expectClose(x.dataSync(), [0, 0.5], 'x');
    optimizer.zeroGrad();
    expect(x.grad).toBe(null);
  });

  it('weight decay of SGD and Adam goes through the gradient, of AdamW beside it', () => {
    const stepped = (make: (x: ReturnType<typeof leaf>) => SGD | Adam) => {
      using x = leaf([2]);
      using optimizer = make(x);
      tidy(() => x.mul(3).sum().backward());
      optimizer.step();
      optimizer.zeroGrad();
      return x.itemSync();
    };
    expect(stepped((x) => new SGD([x], { lr: 0.1, weightDecay: 0.5 }))).toBeCloseTo(1.6, 6);
    // The first step of Adam is the rate, whatever the size of the gradient.
    expect(stepped((x) => new Adam([x], { lr: 0.1, weightDecay: 0.5 }))).toBeCloseTo(1.9, 6);
    expect(stepped((x) => new AdamW([x], { lr: 0.1, weightDecay: 0.5 }))).toBeCloseTo(1.8, 6);
  });

  it('state outlives a tidy around the constructor', () => {
    using x = leaf([1]);
    using optimizer = tidy(() => new Adam([x], { lr: 0.1 }));
    tidy(() => x.sum().backward());
    optimizer.step();
    optimizer.zeroGrad();
    expect(x.itemSync()).toBeCloseTo(0.9, 6);
  });

  it('a parameter given twice is updated once', () => {
    using x = leaf([1]);
    using optimizer = new SGD([x, x], { lr: 0.1 });
    tidy(() => x.sum().backward());
    optimizer.step();
    optimizer.zeroGrad();
    expect(x.itemSync()).toBeCloseTo(0.9, 6);
  });

  it("groups are written and read by PyTorch's names, too", () => {
    using x = leaf([1]);
    using y = leaf([1]);
    using optimizer = new SGD([{ params: [x], lr: 0.1 }, { params: [y] }], { lr: 0.2 });
    tidy(() => x.add(y).sum().backward());
    optimizer.step();
    expect([x.itemSync(), y.itemSync()]).toEqual([Math.fround(0.9), Math.fround(0.8)]);
    expect(optimizer.paramGroups.every(({ params }, i) => params[0] === [x, y][i])).toBe(true);
    expect(Object.keys(optimizer.stateDict().groups[0]!)).not.toContain('params');
    optimizer.loadStateDict(optimizer.stateDict());
    expect(optimizer.groups[0]!.params).toBe(optimizer.groups[0]!.parameters);
    optimizer.zeroGrad();
  });

  it('values out of range are refused', () => {
    using x = leaf([1]);
    expect(() => new SGD([], { lr: 0.1 })).toThrow('nothing to optimize');
    const missing = [x, undefined] as never;
    expect(() => new SGD(missing, { lr: 1 })).toThrow(/parameter 1 is not a tensor.*undefined/s);
    expect(() => new SGD([x], { lr: -1 })).toThrow('lr = -1');
    expect(() => new SGD([x], { lr: Number.NaN })).toThrow('lr = NaN');
    expect(() => new SGD([x], { lr: 0.1, nesterov: true })).toThrow('nesterov without momentum');
    expect(() => new Adam([x], { betas: [0.9, 1] })).toThrow('beta2 = 1');
  });
});
