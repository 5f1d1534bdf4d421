/** Conformance 94 and 100 together: a saved program serves every size that its inputSpec leaves open. */

import { describe, expect, it } from 'vitest';
import {
  cat,
  crossEntropy,
  enableGrad,
  type InputSpec,
  type LoadedProgram,
  loadProgram,
  memory,
  nn,
  noGrad,
  ones,
  rand,
  randn,
  ShapeError,
  type StaticFunction,
  save,
  seed,
  type Tensor,
  tensorSpec,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { measure } from '../run-program/memory-counter.ts';
import { bits } from './exercise.ts';

// biome-ignore lint/suspicious/noExplicitAny: any function under test.
type Fn = (...args: any[]) => unknown;

interface Case {
  readonly name: string;
  readonly fn: Fn;
  readonly spec: readonly InputSpec[];
  readonly make: (...sizes: number[]) => unknown[];
  /** The sets of sizes of the calls before saving, and of those after it. */
  readonly before: readonly number[][];
  readonly after: readonly number[][];
}

const leaf = (...shape: number[]) => randn(shape).requiresGrad_();
const ofOne = (...sizes: number[]) => sizes.map((n) => [n]);

seed(5);
const mlp = new nn.Sequential(new nn.Linear(4, 8), new nn.ReLU(), new nn.Linear(8, 3));
const conv = new nn.Conv2d(2, 3, 3, { stride: 2, padding: 1 });
const dropout = new nn.Dropout(0.5);

const cases: readonly Case[] = [
  {
    name: 'a network with a loss, with gradients',
    fn: (x: Tensor, labels: Tensor) => crossEntropy(mlp.forward(x) as Tensor, labels),
    spec: [tensorSpec(['n', 4], 'float32'), tensorSpec(['n'], 'int32')],
    make: (n) => [leaf(n!, 4), ones([n!]).to('int32')],
    before: [[6]],
    after: ofOne(1, 2, 3, 6, 50, 300),
  },
  {
    name: 'several open sizes, equal and apart',
    fn: (x: Tensor, y: Tensor) =>
      x.matmul(y).softmax(1).mul(x.shape[0]!).add(x.mean(1).unsqueeze(1)).reshape([-1]),
    spec: [tensorSpec(['n', 'k']), tensorSpec(['k', 'm'])],
    make: (n, k, m) => [leaf(n!, k!), leaf(k!, m!)],
    before: [[3, 4, 5]],
    after: [
      [2, 2, 2],
      [7, 3, 9],
      [4, 4, 4],
      [1, 5, 3],
      [64, 2, 31],
    ],
  },
  {
    name: 'bounds with few sizes',
    fn: (x: Tensor) => cat([x.mul(2), x.narrow(0, 0, Math.floor(x.shape[0]! / 2))]).mean(0),
    spec: [tensorSpec([{ min: 1, max: 9 }, 2])],
    make: (n) => [leaf(n!, 2)],
    before: [[4]],
    after: ofOne(1, 2, 3, 5, 6, 7, 8, 9),
  },
  {
    name: 'a strided convolution of open height and width',
    fn: (x: Tensor) => conv.forward(x).relu().mean([2, 3]),
    spec: [tensorSpec(['n', 2, 'h', 'w'])],
    make: (n, h, w) => [randn([n!, 2, h!, w!])],
    before: [[2, 8, 9]],
    after: [
      [3, 9, 9],
      [2, 12, 7],
      [1, 6, 5],
      [5, 16, 16],
    ],
  },
  {
    name: 'variances of n - 1, of counts of several sizes',
    fn: (x: Tensor) => x.sub(x.mean(0)).div(x.var(0).add(1)).add(x.std()),
    spec: [tensorSpec(['n', 'k'])],
    make: (n, k) => [leaf(n!, k!)],
    before: [[4, 3]],
    after: [
      [3, 2],
      [5, 4],
      [40, 7],
    ],
  },
  {
    name: 'branches and loops',
    fn: (x: Tensor) => {
      let y = x.sum().itemSync() > 0 ? x.mul(2) : x.exp().div(x.shape[0]!);
      let turns = 0;
      while (y.abs().sum().itemSync() < 40 && turns < 6) {
        y = y.mul(1.5).add(x.mean(0));
        turns++;
      }
      return [y, turns, x.shape[0]! * 2];
    },
    spec: [tensorSpec(['n', 3])],
    make: (n) => [leaf(n!, 3)],
    before: [[4]],
    after: ofOne(1, 2, 3, 5, 9, 40),
  },
  {
    name: 'random numbers',
    fn: (x: Tensor) => dropout.forward(x).mul(rand([x.shape[0]!, 2])),
    spec: [tensorSpec(['n', 2])],
    make: (n) => [leaf(n!, 2)],
    before: [[3]],
    after: ofOne(0, 1, 2, 4, 7, 30),
  },
  {
    name: 'a decision of the host on a size, with a program on either side',
    fn: (x: Tensor) => (x.shape[0]! > 10 ? x.mul(2).sum() : x.mean()),
    spec: [tensorSpec(['n'])],
    make: (n) => [leaf(n!)],
    before: [[4], [12]],
    after: ofOne(1, 2, 9, 10, 11, 50),
  },
];

function outcome(fn: Fn, { make }: Case, sizes: readonly number[]): unknown {
  return tidy(() => {
    seed(sizes.reduce((sum, size) => sum * 31 + size, 7));
    const args = make(...sizes);
    const value = fn(...args);
    const [first] = [value].flat() as Tensor[];
    if (first!.requiresGrad) first!.sum().backward();
    const gradients = (args as Tensor[]).map((each) => each.grad);
    for (const parameter of [...mlp.parameters(), ...conv.parameters()]) parameter.grad = null;
    return bits([value, gradients, rand([2])]);
  });
}

async function loaded(
  each: Case,
): Promise<{ captured: StaticFunction<Fn>; program: LoadedProgram }> {
  const captured = toStatic(each.fn, { fullGraph: true, inputSpec: each.spec });
  for (const sizes of each.before) outcome(captured, each, sizes);
  return { captured, program: await loadProgram(await save(captured)) };
}

describe('a saved program', () => {
  it.each(cases)('serves sizes that no call had, and knows their bytes: $name', async (each) => {
    const { program } = await loaded(each);
    for (const sizes of each.after) {
      expect({ sizes, is: outcome(program, each, sizes) }).toEqual({
        sizes,
        is: outcome(each.fn, each, sizes),
      });
      const before = memory.stats('cpu').allocated;
      tidy(() => {
        const args = each.make(...sizes);
        const { peak, kept } = measure(() => program(...args), 'cpu');
        const predicted = program.predicted();
        expect(predicted === null).toBe(each.name === 'branches and loops');
        if (!predicted) return;
        const { peakBytes, savedBytes, outputBytes } = predicted;
        const bytes = { peak: peakBytes, kept: savedBytes + outputBytes };
        expect({ sizes, peak, kept }).toEqual({ sizes, ...bytes });
      });
      expect(memory.stats('cpu').allocated).toBe(before);
    }
    program.dispose();
  });

  it('is saved again with all of it', async () => {
    const each = cases[0]!;
    const { program } = await loaded(each);
    const again = await loadProgram(await save(program));
    for (const sizes of [[5], [1], [17]]) {
      expect(outcome(again, each, sizes)).toEqual(outcome(each.fn, each, sizes));
    }
    program.dispose();
    again.dispose();
  });

  it('names sizes that it does not serve', async () => {
    const bounded = toStatic((x: Tensor) => x.mul(2), {
      fullGraph: true,
      inputSpec: [tensorSpec([{ name: 'n', min: 2, max: 9 }, null], 'float32', 'x')],
    });
    tidy(() => void bounded(ones([3, 4])));
    const program = await loadProgram(await save(bounded));
    expect(() => tidy(() => program(ones([10, 4])))).toThrow(ShapeError);
    expect(() => tidy(() => program(ones([10, 4])))).toThrow(
      /argument 0 \(x\)[\s\S]*dimension 0 is 10, outside 2 to 9/,
    );
    tidy(() => expect((program(ones([9, 0])) as Tensor).shape).toEqual([9, 0]));
    program.dispose();
    // Without a specification: sizes from 2 on, once a second one has come.
    const open = toStatic((x: Tensor) => x.mul(2), { fullGraph: true });
    for (const n of [3, 4]) tidy(() => void open(ones([n])));
    const other = await loadProgram(await save(open));
    tidy(() => expect((other(ones([100])) as Tensor).shape).toEqual([100]));
    expect(() => tidy(() => other(ones([1])))).toThrow(ShapeError);
    expect(() => tidy(() => other(ones([1])))).toThrow(
      /argument 0\.shape\[0\] is 1[\s\S]*a size from 2 on/,
    );
    other.dispose();
  });

  it('knows what the code computes of a size, and on which sizes it decides', async () => {
    const fn = (x: Tensor) => {
      const [n = 0] = x.shape;
      const y = x.mul(Math.sqrt(n) + Math.sin(n));
      return n % 2 === 0 ? y.reshape([-1, 2]).sum(0) : y.sum(0);
    };
    const f = toStatic(fn, { fullGraph: true, inputSpec: [tensorSpec(['n'])] });
    tidy(() => void f(ones([4])));
    const program = await loadProgram(await save(f));
    tidy(() => {
      for (const n of [2, 8, 30]) expect(bits(program(ones([n])))).toEqual(bits(fn(ones([n]))));
      expect(() => program(ones([7]))).toThrow(/no program was saved/);
    });
    program.dispose();
  });

  it('serves sizes of calls only where a size is a trace of its own', async () => {
    const f = toStatic(
      (x: Tensor) => (x.sum().itemSync() > 0 ? x.add(rand([x.shape[0]!])) : x.neg()),
      { fullGraph: true, inputSpec: [tensorSpec(['n'])] },
    );
    tidy(() => void f(ones([4])));
    const program = await loadProgram(await save(f));
    tidy(() => {
      program(ones([4]));
      expect(() => program(ones([5]))).toThrow(/no program was saved/);
    });
    program.dispose();
  });
});

const modes = [
  { mode: 'noGrad', around: noGrad },
  { mode: 'enableGrad', around: enableGrad },
];

describe.each(modes)('called in $mode', ({ around: calls }) => {
  it.each(modes)('and saved in $mode: a program for every size', async ({ around: saves }) => {
    const f = toStatic((x: Tensor) => (mlp.forward(x) as Tensor).softmax(1));
    calls(() => [2, 3, 5].map((n) => f(randn([n, 4]))));
    const saved = await saves(() => save(f));
    const program = await loadProgram(saved);
    for (const n of [2, 7, 31]) {
      const x = randn([n, 4]);
      const [expected, actual] = calls(() => [f(x), program(x) as Tensor]) as Tensor[];
      expect(bits(actual!)).toEqual(bits(expected!));
      expect(actual!.requiresGrad).toBe(expected!.requiresGrad);
    }
  });
});

it('a program of sizes alone, in which no op remains, serves every size and no other dtype', async () => {
  const state = { rows: 0 };
  const rows = (x: Tensor, y: Tensor) => {
    state.rows = x.shape[0]!;
    x.mul(2).sum();
    return { both: x.shape[0]! * 100 + y.shape[0]!, first: [x.ndim], x };
  };
  const captured = toStatic(rows, { fullGraph: true });
  const make = (n: number, m: number) => [ones([n, 4]), ones([m])] as const;
  for (const [n, m] of [
    [3, 4],
    [5, 3],
    [3, 4],
    [5, 3],
  ] as const)
    captured(...make(n, m));
  const program = (await loadProgram(await save(captured))) as LoadedProgram & typeof rows;
  for (const [n, m] of [
    [3, 4],
    [4, 3],
    [7, 9],
    [64, 2],
  ] as const) {
    expect(bits(program(...make(n, m)))).toEqual(bits(rows(...make(n, m))));
    expect(program.variables()).toEqual({ 'state.rows': n });
  }
  const [x, y] = make(4, 3);
  expect(() => program(x.to('int32'), y)).toThrow('no program was saved');
});
