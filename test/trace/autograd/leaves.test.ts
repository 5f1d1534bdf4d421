import { describe, it } from 'vitest';
import { nn, type Tensor, tensor, zeros } from '../../../src/index.ts';
import { expectSameAsEager, values, weights } from '../same-as-eager.ts';
import { expectInParts } from './in-parts.ts';

describe('trace/leaves', () => {
  it('a leaf made inside gets its gradient inside', () =>
    expectInParts(() => ({
      fn: (x: Tensor) => {
        const y = x.mul(2).detach().requiresGrad_();
        y.pow(2).sum().backward();
        y.mul(3).sum().backward();
        return [y, y.grad, y.isLeaf, y.requiresGrad, x.grad];
      },
      args: () => [weights([3])],
    })));

  it('a leaf made inside gets its gradient outside', () =>
    expectInParts(() => ({
      fn: (x: Tensor) => {
        const [y, z] = [x.mul(2).detach().requiresGrad_(), zeros([3]).requiresGrad_()];
        return [y, z, y.mul(x).pow(2), y.mul(z)];
      },
      args: () => [weights([3])],
    })));

  it.each([0, 1, '', 'yes', null, undefined, Number.NaN])(
    'is one where it is asked for by %j, which plain JavaScript may pass for a boolean',
    (asked) => {
      expectSameAsEager(() => {
        const w = weights([3], 1);
        return {
          fn: (x: Tensor) => {
            const made = x.detach().requiresGrad_(asked as never);
            w.requiresGrad_(asked as never);
            return [made.requiresGrad, w.requiresGrad, x.mul(w).mul(made)];
          },
          args: () => [weights([3])],
          state: () => w,
        };
      });
    },
  );

  it('an argument becomes a leaf: gradients inside, outside, and later', () =>
    expectInParts(
      () => ({
        fn: (x: Tensor, again: Tensor) => {
          const before = x.mul(2);
          x.requiresGrad_();
          const [y, z] = [x.pow(2), again.pow(3)];
          y.sum().backward();
          return [before, z, x.requiresGrad, again.grad];
        },
        args: (call) => {
          const x = values([3], call);
          return [x, call === 1 ? values([3]) : x];
        },
      }),
      { graphs: 2, garbage: true },
    ));

  it('parameters are frozen and thawed between the halves of a step', () =>
    expectInParts(
      () => {
        const [critic, other] = [new nn.Linear(3, 2), new nn.Linear(2, 3)];
        const parameters = critic.parameters();
        return {
          fn: (x: Tensor) => {
            for (const each of parameters) each.requiresGrad_(false);
            const fooled = critic.forward(other.forward(x)).sum();
            fooled.backward();
            for (const each of parameters) each.requiresGrad_(true);
            const seen = critic.forward(other.forward(x).detach()).pow(2).sum();
            seen.backward();
            return [fooled, seen];
          },
          args: () => [values([2, 2])],
          state: () => [critic, other],
        };
      },
      { graphs: 2 },
    ));

  it('what stays frozen is frozen afterwards', () =>
    expectInParts(
      () => {
        const layer = new nn.Linear(3, 2);
        return {
          fn: (x: Tensor, frozen: boolean) => {
            layer.weight.requiresGrad_(!frozen);
            return layer.forward(x);
          },
          args: (call) => [values([2, 3]), call !== 1],
          state: () => layer,
        };
      },
      { graphs: 2 },
    ));

  it('results cannot be frozen, whole numbers have no gradients', () => {
    expectInParts(
      () => ({
        fn: (x: Tensor) => x.mul(2).requiresGrad_(false),
        args: () => [weights([3])],
      }),
      {
        graphs: 0,
        breaks: ['requiresGrad_: only leaves can be frozen'],
        garbage: true,
      },
    );
    expectInParts(
      () => ({
        fn: (x: Tensor) => x.add(1).requiresGrad_(),
        args: () => [tensor(Int32Array.of(1, 2))],
      }),
      {
        graphs: 0,
        breaks: ['requiresGrad_: only floating-point tensors have gradients'],
        garbage: true,
      },
    );
  });

  it('retainGrad fills .grad of a result, and adds to it', () =>
    expectInParts(() => ({
      fn: (x: Tensor) => {
        const y = x.mul(2);
        y.retainGrad();
        y.pow(2).sum().backward(null, { retainGraph: true });
        const first = y.grad!.clone();
        y.sum().backward();
        return [first, y.grad, y.isLeaf];
      },
      args: () => [weights([3])],
    })));

  it('retainGrad for a backward outside ends the graph', () =>
    expectInParts(
      () => ({
        fn: (x: Tensor) => {
          const y = x.mul(2);
          y.retainGrad();
          return [y, y.pow(2)];
        },
        args: () => [weights([3])],
      }),
      { graphs: 2, breaks: ['a gradient is kept after the graph has ended'] },
    ));

  it('.grad of a result is null, of a leaf it is put aside and taken back', () =>
    expectInParts(() => ({
      fn: (x: Tensor, w: Tensor) => {
        const y = x.mul(w);
        w.grad = null;
        y.sum().backward();
        w.grad!.mul_(2);
        const first = w.grad;
        w.grad = null;
        w.exp().sum().backward();
        return [first, y.grad];
      },
      args: () => [values([3]), weights([3], 1)],
    })));

  it('sizes that change: a detached target, a leaf made inside', () =>
    expectInParts(
      () => ({
        fn: (x: Tensor, w: Tensor) => {
          const target = x.mul(w).detach();
          const y = x.add(1).detach().requiresGrad_();
          x.mul(w).sub(target).mul(y).pow(2).sum().backward();
          return [y.grad, target];
        },
        args: (call) => [values([3 + call, 2], call), weights([2], 1)],
      }),
      { graphs: 2 },
    ));
});
