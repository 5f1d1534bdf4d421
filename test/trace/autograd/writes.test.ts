import { describe, expect, it } from 'vitest';
import {
  grad,
  noGrad,
  rand,
  seed,
  type Tensor,
  tensor,
  toStatic,
  zeros,
} from '../../../src/index.ts';
import { expectSameAsEager, values, weights } from '../same-as-eager.ts';
import { expectInParts } from './in-parts.ts';

const log: unknown[] = [];
const native = log.push.bind(log);

describe('trace/writes that gradients flow through', () => {
  it('over a result: copied, added, multiplied', () =>
    expectInParts(() => ({
      fn: (x: Tensor) => {
        const y = x.mul(2);
        y.copy_(x.mul(3));
        const z = x.mul(2);
        z.add_(y).mul_(x).sub_(1).clamp_(-1, 1);
        return [y, z];
      },
      args: () => [weights([2])],
    })));

  it('over a tensor that had no history', () =>
    expectInParts(() => ({
      fn: (x: Tensor) => {
        const y = zeros([2, 3]);
        y.select(0, 1).copy_(x.select(0, 0));
        y.select(0, 0).add_(x.select(0, 1));
        return [y.pow(2), y.requiresGrad];
      },
      args: () => [weights([2, 3])],
    })));

  it('through views, and seen by other views', () =>
    expectInParts(() => ({
      fn: (x: Tensor) => {
        const y = x.mul(2);
        const [row, column] = [y.select(0, 1), y.select(1, 2)];
        row.mul_(3);
        y.narrow(1, 0, 2).mul_(x.narrow(1, 1, 2));
        return [y.pow(2), row.exp(), column];
      },
      args: () => [weights([2, 3])],
    })));

  it('in a loop, differentiated inside', () =>
    expectInParts(() => ({
      fn: (x: Tensor) => {
        const y = x.clone();
        for (let i = 0; i < 3; i++) y.select(0, i % 2).mul_(x.select(0, 1 - (i % 2)));
        y.pow(2).sum().backward();
        return x.grad;
      },
      args: () => [weights([2, 3])],
    })));

  it('in branches of the host, with a break between them', () =>
    expectInParts(
      () => ({
        fn: (x: Tensor, double: boolean) => {
          const y = x.exp();
          const z = y.mul(2);
          if (double) z.mul_(2);
          else z.add_(1);
          native('between');
          z.mul_(x);
          return z;
        },
        args: (call) => [weights([3]), call !== 1],
      }),
      { graphs: 2, breaks: ['native() is native code', 'mul_() where gradients flow'] },
    ));

  it('to the base of a view that goes on behind a break, when the base does not', () =>
    expectInParts(
      () => ({
        fn: (x: Tensor) => {
          const y = x.mul(1.5);
          const view = y.narrow(0, 0, 2);
          native('between');
          y.mul_(x);
          return view.mul(view);
        },
        args: () => [weights([3])],
      }),
      { graphs: 2, breaks: ['native() is native code', 'mul_() where gradients flow'] },
    ));

  it('under noGrad and recorded, in turn', () =>
    expectInParts(() => ({
      fn: (x: Tensor) => {
        const y = x.mul(2);
        noGrad(() => {
          y.add_(1);
        });
        y.mul_(x);
        return y;
      },
      args: () => [weights([2, 3])],
    })));

  it('over a value that backward needs: the error of eager execution', () => {
    expectInParts(
      () => ({
        fn: (x: Tensor) => {
          const y = x.exp();
          y.add_(x);
          y.sum().backward();
        },
        args: () => [weights([2, 3])],
      }),
      {
        graphs: 0,
        breaks: ['backward of exp: a value that it needs was changed in place'],
        garbage: true,
      },
    );
  });

  it('over a value that backward needs: of the leaves that it leads to, and of no others', () => {
    const other = weights([3], 2);
    other.grad = zeros([3]);
    const histories: Record<string, (x: Tensor, w: Tensor) => Tensor> = {
      overwritten: (x, w) => {
        const y = x.mul(w);
        x.fill_(2);
        return y;
      },
      freed: (x, w) => {
        const y = x.mul(w);
        y.sum().backward();
        return y;
      },
      'freed, after a sum of gradients in place': (x, w) => {
        const y = x.mul(w);
        other.sum().backward();
        y.sum().backward();
        return y;
      },
      'freed, with a write to a view': (x, w) => {
        const y = x.mul(2);
        y.narrow(0, 1, 1).copy_(w.narrow(0, 0, 1));
        const z = y.mul(w);
        z.sum().backward();
        return y;
      },
    };
    for (const fn of Object.values(histories)) {
      const outcomes = (run: typeof fn) =>
        [(w: Tensor) => [w], (w: Tensor) => [other, w], () => [other]].map((wanted) => {
          const w = weights([3], 1);
          const total = run(values([3]), w)
            .sum()
            .add(other.sum());
          try {
            const found = grad(total, wanted(w), { allowUnused: true });
            return found.map((own) => own && [...own.dataSync()]);
          } catch (error) {
            return String(error).split('\n')[0];
          }
        });
      expect(outcomes(toStatic(fn))).toEqual(outcomes(fn));
    }
  });

  it('over the operand of the write itself', () =>
    expectInParts(() => ({
      fn: (x: Tensor, w: Tensor) => {
        const y = x.mul(w);
        y.mul_(w).mul_(w);
        const z = y.div(2);
        z.mul_(z);
        return [y, z];
      },
      args: () => [values([3]), weights([3], 1)],
    })));

  it('to pre-existing memory: natively', () =>
    expectInParts(
      () => {
        const buffer = values([3], 4);
        return {
          fn: (x: Tensor) => {
            noGrad(() => {
              buffer.mul_(2);
            });
            buffer.add_(x);
            return buffer.sum();
          },
          args: () => [weights([3])],
          state: () => buffer.detach(),
        };
      },
      { graphs: 3, breaks: ['add_() where gradients flow'], garbage: true },
    ));

  it('sizes that change', () =>
    expectInParts(
      () => ({
        fn: (x: Tensor, w: Tensor) => {
          const y = x.mul(w);
          y.narrow(0, 1, 2).mul_(w);
          y.add_(x).mul_(y);
          return y.sum();
        },
        args: (call) => [values([3 + call, 2], call), weights([2], 1)],
      }),
      { graphs: 2 },
    ));

  it('by numbers of the program, behind a break', () => {
    const writes: Record<string, (y: Tensor, x: Tensor, number: number) => unknown> = {
      fill_: (y, _, number) => y.fill_(number),
      'fill_ of a row': (y, _, number) => y.select(0, 1).fill_(number),
      add_: (y, x, number) => y.add_(x, { alpha: number }),
      sub_: (y, x, number) => y.sub_(x, { alpha: number }),
      mul_: (y, _, number) => y.mul_(number),
      addcmul_: (y, x, number) => y.addcmul_(x, x, { value: number }),
      addcdiv_: (y, x, number) => y.addcdiv_(x, x, { value: number }),
      clamp_: (y, _, number) => y.clamp_({ max: number }),
      clampMin_: (y, _, number) => y.clampMin_(number),
      lerp_: (y, x, number) => y.lerp_(x, number),
      maskedFill_: (y, x, number) => y.maskedFill_(x.gt(0), number),
      indexFill_: (y, _, number) => y.indexFill_(0, tensor([1], { dtype: 'int32' }), number),
      pow_: (y, _, number) => y.pow_(number),
    };
    for (const write of Object.values(writes)) {
      const world = () => ({
        fn: (x: Tensor, w: Tensor) => {
          const y = w.mul(2);
          x.add_(w);
          write(y, x, x.sum().itemSync());
          return y;
        },
        args: (call: number) => [values([2, 3], call), weights([2, 3], call + 1)],
      });
      expectSameAsEager(world, { calls: 2, capture: 'auto' });
    }
  });

  it('random numbers, behind a break: each is drawn once', () => {
    const fills: Record<string, (y: Tensor) => Tensor> = {
      uniform_: (y) => y.uniform_(-1, 1),
      normal_: (y) => y.normal_(),
      exponential_: (y) => y.exponential_(),
      logNormal_: (y) => y.logNormal_(),
      cauchy_: (y) => y.cauchy_(),
      bernoulli_: (y) => y.bernoulli_(0.5),
      random_: (y) => y.random_(0, 5),
    };
    for (const capture of ['break', 'auto'] as const) {
      for (const fill of Object.values(fills)) {
        const world = () => ({
          fn: (x: Tensor, w: Tensor) => {
            const y = w.mul(2);
            x.add_(w);
            fill(y);
            return [y, rand([2])];
          },
          args: (call: number) => {
            seed(call);
            return [values([2, 3], call), weights([2, 3], call + 1)];
          },
        });
        expectSameAsEager(world, { calls: 2, capture });
      }
    }
  });

  it('to memory that views show, repeated and empty ones too', () => {
    const sizes = [
      [3, 2],
      [1, 2],
      [2, 0],
      [0, 1],
    ];
    const world = () => ({
      fn: (x: Tensor) => {
        const [rows, columns] = x.shape as [number, number];
        const seen = (write: (y: Tensor) => unknown) => {
          const y = x.mul(1.5);
          const views = [
            y.permute([1, 0]),
            y.unsqueeze(1).expand([rows, 3, columns]),
            y.t().expand([2, columns, rows]).select(0, 1),
            y.sum(0, { keepDim: true }).expand([4, columns]),
            ...(rows > 1 ? [y.unfold(0, 2, 1)] : []),
          ];
          write(y);
          return views.reduce(
            (sum, view, i) =>
              sum.add(
                view
                  .mul(view)
                  .mul(i + 1)
                  .sum(),
              ),
            y.sum(),
          );
        };
        return [seen((y) => y.mul_(x)), seen((y) => y.copy_(x.mul(2))), seen((y) => y.zero_())];
      },
      args: (call: number) => [weights(sizes[call]!)],
    });
    expectSameAsEager(world, { calls: sizes.length, fullGraph: true, dynamic: false });
  });
});
