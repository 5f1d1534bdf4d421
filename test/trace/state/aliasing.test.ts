import { describe, expect, it } from 'vitest';
import { noGrad, relu, type Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, weights } from '../same-as-eager.ts';

const same = relu;

describe('aliasing', () => {
  it('a view of an argument is a view of that argument: a later write shows through', () => {
    expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        const row = x.select(0, 0);
        row.fill_(0);
        return [x.sum(), row];
      },
      args: () => [values([2, 3])],
    }));
  });

  it('a view of a strided argument is a view of that argument', () => {
    expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        const row = x.select(0, 0);
        row.fill_(0);
        return [x.sum(), row];
      },
      args: () => [values([2, 3]).transpose(0, 1)],
    }));
  });

  it('a returned view of a strided argument shares its memory', () => {
    let x: Tensor;
    expectSameAsEager(() => ({
      fn: (x: Tensor) => x.narrow(0, 0, 2),
      args: () => {
        x = values([2, 3]).transpose(0, 1);
        return [x];
      },
      install: (fn) => (x: Tensor) => {
        const view = fn(x) as Tensor;
        view.fill_(7);
        return view;
      },
    }));
  });

  it('contiguous() of a strided argument is another tensor, of a contiguous one the same', () => {
    expectSameAsEager(
      () => ({
        fn: (x: Tensor) => [x.contiguous(), x, x.reshape([x.numel()]), x.squeeze(0)],
        args: (call) => [call % 2 ? values([3, 2]) : values([2, 3]).transpose(0, 1)],
      }),
      { calls: 4 },
    );
  });

  it('the same leaf through two sources gets its gradient summed in eager order', () => {
    expectSameAsEager(
      () => ({
        fn: (a: Tensor, b: Tensor) => a.mul(b).add(a.exp()).mul(b.tanh()).add(a.sigmoid()).sum(),
        args: (call) => {
          const [a, b] = [weights([5], 1), weights([5], 2)];
          return call % 2 ? [a, b] : [a, a];
        },
      }),
      { calls: 5 },
    );
  });

  it('a leaf used several times in two subgraphs is summed in eager order', () => {
    expectSameAsEager(() => {
      const log: number[] = [];
      const push = log.push.bind(log);
      return {
        fn: (x: Tensor, w: Tensor) => {
          const a = x.mul(w).add(w.exp());
          push(1);
          return a.mul(w.tanh()).add(w.sigmoid().mul(w));
        },
        args: () => [values([7]), weights([7], 3)],
      };
    });
  });

  it('so are parts that some outputs bring and others do not, and retained graphs', () => {
    expectSameAsEager(() => {
      const log: number[] = [];
      const push = log.push.bind(log);
      return {
        fn: (x: Tensor, w: Tensor) => {
          const [a, b] = [x.mul(w).add(w.exp()).add(w), w.sin().mul(w)];
          push(1);
          const c = a.mul(w.tanh()).add(w.sigmoid().mul(w));
          push(2);
          return [c.mul(w).add(w.mul(w)), b.add(w), w.cos().mul(w), a];
        },
        args: () => [values([7]), weights([7], 3)],
      };
    });
  });

  it('two arguments of one memory, one written: what backward needs is noticed', () => {
    const make = (inside: boolean) => () => ({
      fn: (a: Tensor, b: Tensor, w: Tensor) => {
        const y = a.mul(w).sum();
        noGrad(() => b.add_(1));
        if (inside) y.backward();
        return inside ? w.grad : y;
      },
      args: (call: number) => {
        const base = values([6]);
        const other = call === 1 ? values([3], 8) : base.narrow(0, call === 2 ? 3 : 1, 3);
        return [base.narrow(0, 0, 3), other, weights([3], 1)];
      },
    });
    expectSameAsEager(make(true), { calls: 4 });
    const { stats } = expectSameAsEager(make(false), { calls: 4 });
    // What ran as ordinary JavaScript is on record.
    expect(stats.fallbacks).toMatchObject([{ why: expect.stringContaining('one memory') }]);
  });

  it('parameters in one block of memory are updated after backward', () => {
    const { graphs, breaks } = expectSameAsEager(() => {
      const block = values([6]);
      const [w, v] = [block.narrow(0, 0, 3).requiresGrad_(), block.narrow(0, 3, 3).requiresGrad_()];
      return {
        fn: (x: Tensor) => {
          x.mul(w).mul(v).sum().backward();
          noGrad(() => {
            for (const each of [w, v]) {
              each.sub_(each.grad!.mul(0.1));
              each.grad = null;
            }
          });
        },
        args: () => [values([3], 2)],
        state: () => [w, v],
      };
    });
    expect([graphs, breaks]).toEqual([1, 0]);
  });

  it('functions are compared by identity', () => {
    expectSameAsEager(
      () => ({
        fn: (x: Tensor, f: unknown) => [f === relu, same === relu, f !== relu, x.relu()],
        args: (call) => [values([2]), call % 2 ? relu : Math.max],
      }),
      { calls: 4 },
    );
  });

  it('isLeaf of an argument', () => {
    expectSameAsEager(
      () => ({
        fn: (x: Tensor) => [x.isLeaf, x.mul(2).isLeaf, x.requiresGrad, x.mul(2).requiresGrad],
        args: (call) => [call % 2 ? weights([2]) : weights([2]).mul(3)],
      }),
      { calls: 4 },
    );
  });

  it('pre-existing objects are compared by identity', () => {
    expectSameAsEager(
      () => ({
        fn: (a: object, b: object, x: Tensor) => (a === b ? x.add(1) : x.add(2)),
        args: (call) => {
          const o = {};
          return [o, call % 2 ? o : {}, values([2])];
        },
      }),
      { calls: 4 },
    );
  });
});
