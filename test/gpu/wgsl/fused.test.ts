/** Chains of pointwise ops in one dispatch: the bits of eager execution, in place, in any layout. */

import { describe, expect, it } from 'vitest';
import { deviceGuard, randn, seed, Tensor, tensor, tidy } from '../../../runtime/index.ts';
import { toStatic } from '../../../src/to-static.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';
import { expectSameKernels } from '../parity.ts';

type Fn = (...operands: Tensor[]) => Tensor | Tensor[];

interface Case {
  readonly fn: Fn;
  readonly operands: () => Tensor[];
  /** Of one run. */
  readonly dispatches: number;
}

const special = [0, -0, 1, -1.5, 0.3, 60, -200, Infinity, -Infinity, NaN, 1e-30, 3e38];
const square = () => tensor(special.concat(special).map((x, i) => x * (1 + i / 7))).reshape([4, 6]);

const cases: Readonly<Record<string, Case>> = {
  'functions with domains': {
    fn: (x: Tensor) => x.exp().add(x.abs().log()).mul(x.tanh()).sub(x.sin()).add(x.relu().sqrt()),
    operands: () => [square()],
    dispatches: 1,
  },
  'several results': {
    fn: (x: Tensor, y: Tensor) => {
      const sum = x.add(y);
      return [sum, sum.mul(2), sum.mul(x).sigmoid()];
    },
    operands: () => [randn([5, 7]), randn([5, 7])],
    dispatches: 1,
  },
  'operands that broadcast by rows and columns': {
    fn: (x: Tensor, row: Tensor, column: Tensor, one: Tensor) =>
      x.add(row).mul(column).sub(one).relu(),
    operands: () => [randn([3, 40, 5]), randn([5]), randn([40, 1]), randn([1])],
    dispatches: 1,
  },
  'strided operands': {
    fn: (x: Tensor, y: Tensor) => x.mul(y).add(x).neg(),
    operands: () => [randn([6, 5]).permute([1, 0]), randn([5, 6, 2]).select(2, 1)],
    dispatches: 1,
  },
  'comparisons, bools and whole numbers': {
    fn: (x: Tensor, n: Tensor) => {
      const isLarge = x.gt(0.5);
      return [isLarge, isLarge.where(x, x.neg()), n.mul(3).add(1), n.div(2).mul(x)];
    },
    operands: () => [randn([4, 3]), tensor(new Int32Array([7, -3, 0])).expand([4, 3])],
    // A group hangs together: what reads x alone, n alone, and the quotient.
    dispatches: 3,
  },
  powers: {
    fn: (x: Tensor) => x.pow(3).add(x.abs().pow(0.4)).add(x.pow(-2)),
    operands: () => [square()],
    dispatches: 1,
  },
  'writes in place, read afterwards': {
    fn: (x: Tensor, y: Tensor) => {
      const own = x.mul(1);
      own.add_(y).mul_(x);
      return own.add(y);
    },
    operands: () => [randn([33]), randn([33])],
    dispatches: 1,
  },
};

describe.skipIf(skipGpu)('gpu/wgsl/fused', () => {
  const gpu = gpuForTests();

  const on = (make: () => Tensor[]) =>
    deviceGuard(gpu(), () => {
      seed(4);
      return tidy(make);
    });
  const list = (found: Tensor | Tensor[]) => (found instanceof Tensor ? [found] : found);
  const read = async (found: Tensor | Tensor[]) =>
    Promise.all(
      list(found).map(async (t) => ({ dtype: t.dtype, shape: t.shape, data: await t.data() })),
    );
  const facts = (found: Awaited<ReturnType<typeof read>>) =>
    found.map(({ dtype, shape }) => ({ dtype, shape }));

  it.each(Object.keys(cases))('%s', async (name) => {
    const { fn, operands, dispatches } = cases[name]!;
    const eager = await read(fn(...on(operands)));
    const captured = toStatic(fn);
    captured(...on(operands));
    const given = on(operands);
    await gpu().synchronize();
    const before = gpu().commandCounts.dispatches;
    const found = captured(...given);
    expect(gpu().commandCounts.dispatches - before).toBe(dispatches);
    const own = await read(found);
    expect(facts(own)).toEqual(facts(eager));
    const numbers = (each: typeof own) => each.map(({ data }) => data);
    expectSameKernels(gpu(), numbers(own), numbers(eager));
  });

  it('updates of operands that are views of one tensor', async () => {
    const update = (base: Tensor) => {
      const [left, right] = [base.narrow(0, 0, 5), base.narrow(0, 5, 5)];
      left.mul_(2).add_(right);
      right.add_(1).mul_(3);
      return base.sum();
    };
    const run = async (fn: (base: Tensor) => Tensor) => {
      const [base] = on(() => [randn([10])]);
      const sum = fn(base!);
      return [await sum.item(), [...(await base!.data())]];
    };
    const captured = toStatic(update);
    const expected = await run(update);
    expect(await run(captured)).toEqual(expected);
    expect(await run(captured)).toEqual(expected);
  });

  it('a chain of more operands than a kernel may bind is several kernels', async () => {
    const sum = (...all: Tensor[]) => all.reduce((a, b) => a.mul(0.5).add(b));
    const operands = () => Array.from({ length: 30 }, () => randn([9]));
    const eager = await read(sum(...on(operands)));
    const captured = toStatic(sum);
    captured(...on(operands));
    const given = on(operands);
    await gpu().synchronize();
    const before = gpu().commandCounts.dispatches;
    const found = captured(...given);
    expect(gpu().commandCounts.dispatches - before).toBeLessThan(10);
    expect(await read(found)).toEqual(eager);
  });

  it('a fused kernel serves other sizes', async () => {
    const fn = (x: Tensor, row: Tensor) => x.mul(row).add(x).relu();
    const run = (rows: number, columns: number) => {
      const captured = toStatic(fn);
      return captured(
        ...(on(() => [randn([rows, columns]), randn([columns])]) as [Tensor, Tensor]),
      );
    };
    await run(6, 9).data();
    const { compiled } = gpu().kernelStats;
    await run(5, 9).data();
    await run(70, 31).data();
    expect(gpu().kernelStats.compiled).toBe(compiled);
  });
});
