import { describe, expect, it } from 'vitest';
import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { ArgumentError, ShapeError } from '../../runtime/errors/errors.ts';
import { Adam, type Optimizer, RMSprop, SGD } from '../../runtime/optim/index.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, type Tensor, tensor } from '../ops/eager.ts';

const leaf = () => tensor([1, 2], { requiresGrad: true });

function step(x: Tensor, optimizer: Optimizer, slope: number): void {
  tidy(() => x.mul(x).mul(slope).sum().backward());
  optimizer.step();
  optimizer.zeroGrad();
}

const makers: Readonly<Record<string, (x: Tensor) => Optimizer>> = {
  'SGD with momentum': (x) => new SGD([x], { lr: 0.1, momentum: 0.9 }),
  'Adam with amsgrad': (x) => new Adam([x], { amsgrad: true }),
  'centered RMSprop': (x) => new RMSprop([x], { centered: true, momentum: 0.5 }),
};

describe('stateDict', () => {
  for (const [name, make] of Object.entries(makers)) {
    it(`lets ${name} go on as if it had not stopped`, () => {
      const before = allocated();
      const [x, y] = [leaf(), leaf()];
      const first = make(x);
      first.lr = 0.05;
      for (const slope of [1, -3]) step(x, first, slope);
      const second = make(y);
      second.loadStateDict(first.stateDict());
      noGrad(() => y.copy_(x));
      for (const slope of [2, 5]) {
        step(x, first, slope);
        step(y, second, slope);
      }
      expect(second.lr).toBe(0.05);
      expect([...y.dataSync()]).toEqual([...x.dataSync()]);
      for (const own of [x, y, first, second]) own.dispose();
      expect(allocated()).toBe(before);
    });
  }

  it('of other parameters, options or shapes is refused, and nothing changed', () => {
    using x = leaf();
    using y = leaf();
    using wide = tensor([1, 2, 3], { requiresGrad: true });
    using adam = new Adam([x]);
    step(x, adam, 1);
    const state = adam.stateDict();
    const refused = (optimizer: Optimizer) => {
      const { counts } = optimizer;
      try {
        optimizer.loadStateDict(state);
      } catch (error) {
        expect(optimizer.counts).toEqual(counts);
        expect(counts.every((count) => count === 0)).toBe(true);
        optimizer.dispose();
        return error as Error;
      }
      return expect.fail('no error');
    };
    expect(refused(new Adam([x, y])).message).toContain('expected: parameters: 2');
    expect(refused(new Adam([x], { amsgrad: true })).message).toContain(
      'expected: kinds of state: averages, largest, squares',
    );
    expect(refused(new SGD([x], { lr: 1 }))).toBeInstanceOf(ArgumentError);
    expect(refused(new Adam([wide]))).toBeInstanceOf(ShapeError);
    expect(refused(new Adam([{ parameters: [x] }, { parameters: [] }])).message).toContain(
      'other parameter groups',
    );
  });
});
