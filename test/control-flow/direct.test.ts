/** `cond`, `whileLoop`, `scan` and `map` called directly: eagerly, and in every way of capturing. */

import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  cond,
  FullGraphError,
  map,
  memory,
  ones,
  ShapeError,
  scan,
  type Tensor,
  type ToStaticOptions,
  tensor,
  tensorSpec,
  tidy,
  toStatic,
  whileLoop,
} from '../../src/index.ts';

type Fn = (x: Tensor) => Tensor;

const functions: Readonly<Record<string, Fn>> = {
  'cond with operands': (x) =>
    cond(
      x.sum().gt(0),
      (a: Tensor, b: Tensor) => a.mul(b),
      (a: Tensor, b: Tensor) => a.sub(b).exp(),
      [x, x.tanh()],
    ),
  'cond of structures, inside one another': (x) => {
    const { y, rest } = cond(
      x.mean().lt(0.2),
      () => ({ y: x.square(), rest: [x.sin()] }),
      () => ({
        y: cond(
          x.max().gt(1),
          () => x.mul(3),
          () => x.neg(),
        ),
        rest: [x.cos()],
      }),
    );
    return y.add(rest[0]!);
  },
  'whileLoop that carries a tensor and a count': (x) => {
    const [y, turns] = whileLoop(
      (value: Tensor, count: Tensor) => value.square().sum().lt(30).logicalAnd(count.lt(8)),
      (value: Tensor, count: Tensor): [Tensor, Tensor] => [
        value.mul(1.7).sin().add(0.6),
        count.add(1),
      ],
      [x, tensor(0)],
    );
    return y.add(turns);
  },
  'whileLoop without an iteration': (x) =>
    whileLoop(
      (value: Tensor) => value.sum().gt(1e6),
      (value: Tensor): [Tensor] => [value.mul(2)],
      [x.exp()],
    )[0],
  'scan with results': (x) => {
    const [last, all] = scan(
      (carried: Tensor, row: Tensor) => {
        const next = carried.mul(0.5).add(row.tanh());
        return [next, next.mul(row)] as const;
      },
      x.select(0, 0).mul(0),
      x,
    );
    return all.add(last);
  },
  'map over rows': (x) => map((row) => row.mul(row.sum()).exp(), x),
  'all of them together': (x) => {
    const [, rows] = scan(
      (carried: Tensor, row: Tensor) =>
        [
          cond(
            row.sum().gt(0),
            () => carried.add(row),
            () => carried.mul(row),
          ),
          whileLoop(
            (value: Tensor) => value.abs().sum().lt(4.1),
            (value: Tensor): [Tensor] => [value.mul(2).add(0.3)],
            [row],
          )[0],
        ] as const,
      x.mean(0),
      x,
    );
    return map((row) => row.sin(), rows);
  },
};

const inputs = [
  [0.3, -0.2, 0.7, 0.4, 0.1, 0.9],
  [-0.6, -0.4, 0.2, -0.8, 0.5, -0.3],
  [1.4, 0.8, -0.1, 1.1, 0.6, 0.5],
];

const modes: Readonly<Record<string, ToStaticOptions>> = {
  'with breaks': {},
  'capture: auto': { capture: 'auto' },
  'one program': { fullGraph: true },
  'one program of open sizes': { fullGraph: true, inputSpec: [tensorSpec(['n', 2])] },
};

const leaf = (values: readonly number[]) =>
  tensor(values, { shape: [values.length / 2, 2] }).requiresGrad_();

function outcome(fn: Fn, values: readonly number[]): unknown {
  return tidy(() => {
    const x = leaf(values);
    const y = fn(x);
    y.mul(y).sum().backward();
    const seen = [[...y.shape], [...y.dataSync()], [...x.grad!.dataSync()]];
    // Gradients outlive a tidy().
    x.grad!.dispose();
    return seen;
  });
}

describe.each(Object.entries(functions))('%s', (_name, fn) => {
  it('has the gradients of finite differences', () => {
    const step = 1e-5;
    for (const values of inputs) {
      tidy(() => {
        const loss = (at: readonly number[]) => {
          const x = tensor(at, { shape: [3, 2], dtype: 'float64' });
          return fn(x).square().sum().itemSync();
        };
        const x = tensor(values, { shape: [3, 2], dtype: 'float64' }).requiresGrad_();
        fn(x).square().sum().backward();
        const moved = (i: number, by: number) => values.map((v, k) => (k === i ? v + by : v));
        values.forEach((_, i) => {
          const expected = (loss(moved(i, step)) - loss(moved(i, -step))) / (2 * step);
          const scale = Math.max(1, Math.abs(expected));
          expect(Math.abs(x.grad!.dataSync()[i]! - expected) / scale).toBeLessThan(1e-5);
        });
      });
    }
  });

  it.each(Object.entries(modes))('is the same captured: %s', (_mode, options) => {
    const captured = toStatic(fn, options);
    for (const values of [...inputs, inputs[0]!]) {
      expect(outcome(captured, values)).toEqual(outcome(fn, values));
    }
    if (options.inputSpec) {
      const longer = [...inputs[0]!, ...inputs[1]!];
      expect(outcome(captured, longer)).toEqual(outcome(fn, longer));
    }
    if (options.fullGraph) expect(captured.stats().breaks).toEqual([]);
    expect(captured.stats().fallbacks).toEqual([]);
    const before = memory.stats('cpu').allocated;
    outcome(captured, inputs[0]!);
    expect(memory.stats('cpu').allocated).toBe(before);
  });
});

describe('errors', () => {
  const several = (x: Tensor) =>
    cond(
      x,
      () => x,
      () => x.neg(),
    );
  const nothing = (x: Tensor) =>
    cond(
      'yes' as never,
      () => x,
      () => x,
    );
  const empty = (x: Tensor) => map((row) => row, x.narrow(0, 0, 0));

  it.each<[string, Fn, new (...args: never[]) => Error, RegExp]>([
    [
      'a condition of several elements',
      several,
      ShapeError,
      /cond: a condition with several values[\s\S]*f32\[3,2\]/,
    ],
    ['no condition', nothing, ArgumentError, /cond: not a condition[\s\S]*string/],
    ['no rows', empty, ArgumentError, /map: no rows to scan[\s\S]*f32\[0,2\]/],
  ])('%s, eagerly and captured alike', (_name, fn, type, message) => {
    for (const run of [fn, toStatic(fn), toStatic(fn, { capture: 'auto' })]) {
      expect(() => tidy(() => run(ones([3, 2])))).toThrow(type);
      expect(() => tidy(() => run(ones([3, 2])))).toThrow(message);
    }
  });

  it.each<[string, Fn]>([
    [
      'shapes',
      (x) =>
        cond(
          x.sum().gt(0),
          () => x.sum(),
          () => x,
        ),
    ],
    [
      'dtypes',
      (x) =>
        cond(
          x.sum().gt(0),
          () => x.to('int32'),
          () => x,
        ),
    ],
  ])('ways of other %s are one program', (_name, fn) => {
    const captured = toStatic(fn, { fullGraph: true });
    for (const scale of [2, -2]) {
      const [expected, found] = [fn, captured].map((run) =>
        tidy(() => {
          const result = run(ones([3, 2]).mul(scale)) as Tensor;
          return [result.dtype, result.tolist()];
        }),
      );
      expect(found).toEqual(expected);
    }
    expect(captured.stats()).toMatchObject({ translations: 1, breaks: [] });
  });

  it.each<[string, Fn, RegExp]>([
    [
      'a carried value that grows',
      (x) =>
        whileLoop(
          (y: Tensor) => y.sum().lt(100),
          (y: Tensor): [Tensor] => [y.unsqueeze(0)],
          [x],
        )[0],
      /f32\[3,2\]|dimensions|shape/,
    ],
  ])('%s are named in one program', (_name, fn, message) => {
    const captured = toStatic(fn, { fullGraph: true });
    const run = () => tidy(() => void captured(ones([3, 2]).mul(0.01)));
    expect(run).toThrow(FullGraphError);
    expect(run).toThrow(message);
  });
});
