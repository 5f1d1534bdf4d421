/** Tensors of data-dependent shape that are written in place. */

import { describe, expect, it } from 'vitest';
import { tensorMethods } from '../../../runtime/tensor-methods/methods.ts';
import { noGrad, ones, stack, type Tensor, tensor, tidy, toStatic } from '../../../src/index.ts';
import { outcome } from '../outcome.ts';
import { sameAsEager } from '../suite.ts';

const rows = (x: Tensor): Tensor => {
  const all = [x];
  for (let y = x; y.sum().itemSync() < 100; all.push(y)) y = y.mul(2);
  return stack(all);
};

describe('a write in place to a tensor of data-dependent shape', () => {
  const functions: Record<string, (x: Tensor) => unknown> = {
    'that has no other name': (x) => {
      const all = rows(x);
      const same = all;
      same.mul_(2).add_(x).maskedFill_(all.gt(30), 0.5);
      return [all.tanh(), same === all];
    },
    'by a tensor that needs a gradient': (x) => rows(x).mul_(x),
    'that an object and a function hold': (x) => {
      const held = { all: rows(x) };
      const twice = () => held.all.mul_(2);
      held.all.add_(1);
      twice();
      const { all } = held;
      all.sub_(x);
      return [all, held.all.sum()];
    },
    'on the path that made it': (x) => {
      let all = rows(x);
      if (x.sum().itemSync() > 5) {
        const other = all.add(1);
        other.mul_(3);
        all = other;
      }
      return all.mul(x);
    },
    'with a broadcast operand, or of what has no other form': (x) => {
      const [all, sums, same] = [rows(x), rows(x), rows(x).mul(2)];
      all.add_(x.unsqueeze(0)).sub_(all.sum(1, true), { alpha: 0.5 });
      sums.copy_(sums.sum(0)).mul_(x);
      same.fill_(3);
      const copied = rows(x).copy_(tensor(2));
      return [all, sums, same.add(x), copied.add(x), rows(x).zero_().add(x)];
    },
    'in the iteration that made it': (x) => {
      let total = x;
      while (total.sum().itemSync() < 150) {
        const all = rows(total);
        all.add_(1);
        total = all.sum(0);
      }
      return total;
    },
  };

  it.each(Object.entries(functions))('%s', (_, f) => {
    const given = (...values: number[]) => [tensor(values).requiresGrad_()];
    sameAsEager(f, [
      () => given(1, 2),
      () => given(30, 25),
      () => given(60, 50),
      () => given(80, 90),
    ]);
  });
});

/** Eager execution shows the write through the other name, or rejects backward. */
describe('a write that a full graph shows, or rejects:', () => {
  const views: Record<string, (all: Tensor) => Tensor> = {
    transpose: (all) => all.t(),
    columns: (all) => all.narrow(1, 0, 1),
    detach: (all) => all.detach(),
  };
  const forms: Record<string, (x: Tensor) => unknown> = {
    ...Object.fromEntries(
      Object.entries(views).flatMap(([name, view]) => [
        [
          `to the original of ${name}`,
          (x: Tensor) => {
            const all = rows(x);
            const other = view(all);
            all.add_(1);
            return other;
          },
        ],
        [
          `to the result of ${name}`,
          (x: Tensor) => {
            const all = rows(x);
            view(all).add_(1);
            return all;
          },
        ],
      ]),
    ),
    'in a branch': (x) => {
      const all = rows(x);
      if (x.sum().itemSync() > 5) all.add_(1);
      return all;
    },
    'to either of two': (x) => {
      const [all, other] = [rows(x), rows(x.mul(3))];
      const either = x.sum().itemSync() > 5 ? all : other;
      either.add_(1);
      return [all, other];
    },
    'to what a gradient reads': (x) => {
      const all = rows(x);
      const squares = all.mul(all);
      all.add_(1);
      return squares;
    },
    'without gradients': (x) => {
      const all = rows(x);
      noGrad(() => all.mul_(2));
      return all.mul(x);
    },
  };

  it.each(Object.entries(forms))('%s', (_, form) => {
    const calls = (f: typeof form) =>
      [tensor([40, 45]).requiresGrad_(), tensor([60, 50])].map((x) => {
        try {
          return outcome(f, [x]);
        } catch (error) {
          return (error as Error).message.split('\n')[0];
        }
      });
    const expected = calls(form);
    expect(calls(toStatic(form, { capture: 'auto', strict: true }))).toEqual(expected);
    const full = calls(toStatic(form, { fullGraph: true }));
    full.forEach((each, i) => {
      const reason = typeof each === 'object' ? each.thrown?.[1] : undefined;
      if (reason === undefined) expect(each).toEqual(expected[i]);
      else expect(reason).toMatch(/writes in place to a tensor that may have|overwrites a value/);
    });
  });
});

describe('every method that writes in place', () => {
  const arguments_: readonly (() => unknown[])[] = [
    () => [],
    () => [0.5],
    () => [tensor([1.5, 0.5])],
    () => [tensor([1.5, 0.5]), tensor([2, 3])],
    () => [tensor([1.5, 0.5]), 0.25],
    () => [0.25, 0.75],
    () => [0, 3],
    () => [0],
    () => [tensor([true, false]), 2],
    () => [0, tensor([0], { dtype: 'int32' }), 2],
    () => [0, tensor([0], { dtype: 'int32' }), tensor([[1, 2]])],
    () => [0, tensor([[0, 0]], { dtype: 'int32' }), tensor([[1, 2]])],
    () => [[tensor([0], { dtype: 'int32' })], tensor([[1, 2]])],
  ];
  const names = [...tensorMethods.traced, ...tensorMethods.draws]
    .map(({ name }) => name)
    .filter((name) => name.endsWith('_') && name !== 'requiresGrad_');
  const call = (x: Tensor, name: string, given: readonly unknown[]): Tensor =>
    Reflect.apply(Reflect.get(x, name), x, given);
  /** The first arguments that the method accepts. */
  const accepted = (name: string) =>
    arguments_.find((given) => {
      try {
        tidy(() => call(ones([3, 2]), name, given()));
        return true;
      } catch {
        return false;
      }
    });

  it.each(Array.from({ length: 8 }, (_, i) => [names.filter((_name, k) => k % 8 === i)]))(
    '%j',
    (chunk) => {
      const f = (x: Tensor, ...given: unknown[][]) => {
        const all = [x];
        for (let y = x; y.sum().itemSync() < 100; all.push(y)) y = y.mul(2);
        return chunk.map((name, i) => call(stack(all), name, given[i]!));
      };
      const makers = chunk.map(accepted);
      expect(chunk.filter((_, i) => !makers[i])).toEqual([]);
      const given = (...values: number[]) => [tensor(values), ...makers.map((make) => make!())];
      sameAsEager(f, [() => given(1, 2), () => given(30, 25), () => given(60, 50)]);
    },
  );
});
