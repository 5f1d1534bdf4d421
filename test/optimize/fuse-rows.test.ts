/** Random chains of row ops, products and pointwise ops, fused by rows and op by op: the same bits, no more bytes. */

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { pool } from '../../runtime/device/cpu/threads/pool.ts';
import { deviceNamed } from '../../runtime/device/current.ts';
import { contiguousMeta } from '../../runtime/device/tensor-meta.ts';
import { withInterceptor } from '../../runtime/ops/core/bind.ts';
import { add_, mul_ } from '../../runtime/ops/in-place/in-place.ts';
import { ProgramBuilder } from '../../runtime/program/builder.ts';
import { leavesOf } from '../../runtime/program/fused/fused-op.ts';
import type { Program, ValueId } from '../../runtime/program/program.ts';
import {
  add,
  amax,
  argmin,
  cummax,
  cumsum,
  type DType,
  dropout,
  exp,
  gelu,
  layerNorm,
  logSoftmax,
  lt,
  matmul,
  mul,
  prod,
  rand,
  randn,
  relu,
  softmax,
  sub,
  type Tensor,
  tanh,
  where,
} from '../../src/index.ts';
import { randomInts } from '../plan/random-program.ts';
import { type Ran, runWithout } from './run-without.ts';

const dtypes = ['float32', 'float32', 'float32', 'float64', 'float16', 'int32'] as const;
const shapes = [
  ...[
    [2, 3],
    [7, 5],
    [1, 9],
    [40, 1],
    [3, 20, 16],
    [2, 3, 9, 9],
    [5, 4, 33],
    [0, 4],
  ],
  ...[
    [400, 24],
    [70, 120],
    [3, 700],
    [300, 30],
  ],
] as const;

interface Given {
  readonly seed: number;
  readonly size: number;
  readonly shape: readonly number[];
}

function program({ seed, size, shape }: Given): Program {
  const below = randomInts(seed);
  const device = deviceNamed('cpu');
  const builder = new ProgramBuilder(() => {
    throw new Error('no tensor from outside');
  });
  const width = shape.at(-1)!;
  return withInterceptor(builder, () =>
    noGrad(() => {
      const input = (dims: readonly number[], dtype: DType) =>
        builder.input(contiguousMeta({ dtype, shape: dims }, device));
      const kinds = [0, 1, 2].map(() => dtypes[below(dtypes.length)]!);
      const inputs = kinds.map((dtype) => input(shape, dtype));
      const column = input([...shape.slice(0, -1), 1], 'float32');
      const row = input([width], 'float32');
      const factor = input([width, width], 'float32');
      const values: Tensor[] = [...inputs];
      const pick = (): Tensor => {
        const whole = values.filter((value) => value.shape.join() === shape.join());
        return whole[below(2) === 0 ? whole.length - 1 : below(whole.length)]!;
      };
      const single = (): Tensor => pick().to('float32');
      const floating = (): Tensor => {
        const found = pick();
        return found.dtype.startsWith('float') ? found : found.to('float32');
      };
      const makers: readonly (() => Tensor | null)[] = [
        () => add(pick(), pick()),
        () => mul(single(), row),
        () => add(single(), column),
        () => tanh(floating()),
        () => relu(mul(pick(), 0.7)),
        () => exp(tanh(single())),
        () => gelu(single()),
        () => where(lt(pick(), 1), pick(), pick()),
        () => softmax(floating()),
        () => softmax(single()),
        () => logSoftmax(single()),
        () => layerNorm(single(), [width], row, row),
        () => add(single(), single().sum(-1, { keepDim: true })),
        () => mul(single(), single().mean(-1, { keepDim: true })),
        () => sub(single(), amax(single(), -1, { keepDim: true })),
        () => mul(single(), argmin(single(), -1, true)),
        () => cumsum(pick(), -1).to('float32'),
        () => cummax(single(), -1)[below(2)]!,
        () => add(single(), prod(pick(), -1, true)),
        () => matmul(single(), factor),
        () => matmul(single(), factor),
        () => dropout(single(), 0.3),
        () => add(single(), mul(randn([...shape]), 0.1)),
        () => add(single(), rand([...shape], { dtype: below(4) === 0 ? 'float64' : 'float32' })),
        () =>
          single()
            .reshape([-1, width])
            .mul(2)
            .reshape([...shape]),
        () => {
          const target = inputs[below(inputs.length)]!;
          if (target.dtype !== 'float32') return null;
          if (below(2) === 0) mul_(target, 0.75);
          else add_(target, softmax(single()));
          return null;
        },
      ];
      for (let i = 0; i < size; i++) {
        const made = makers[below(makers.length)]!();
        if (made) values.push(made);
      }
      const outputs = new Set<ValueId>([builder.valueOf(values.at(-1)!)]);
      if (below(3) === 0) outputs.add(builder.valueOf(pick()));
      if (below(3) === 0) outputs.add(builder.valueOf(single().sum(-1)));
      return builder.finish([...outputs]);
    }),
  );
}

/** Names of the row ops and products in staged ops, and how many. */
const acted = new Map<string, number>();
let [staged, tried] = [0, 0];

function note({ planned }: Ran): void {
  tried++;
  const ops = planned.forward.steps
    .map(({ op }) => op)
    .filter((op) => op.op.kernel.kind === 'staged');
  if (ops.length > 0) staged++;
  for (const { op } of ops.flatMap(leavesOf)) acted.set(op.name, (acted.get(op.name) ?? 0) + 1);
}

const runs = Number(process.env.GENERATED_RUNS ?? 20);

function check(given: Given): void {
  const made = program(given);
  const [plain, done] = [['fuseRows'], []].map((passes) =>
    runWithout(passes, made, { seed: given.seed, largest: 10 / 7 }),
  ) as [Ran, Ran];
  expect(done.bytes.map((each, i) => each.equals(plain.bytes[i]!))).toEqual(
    plain.bytes.map(() => true),
  );
  expect(done.peak).toBe(done.planned.forward.predicted.peakBytes);
  expect(done.peak).toBeLessThanOrEqual(plain.peak);
  note(done);
}

const arbitrary = (from: readonly (readonly number[])[]) =>
  fc.record({
    seed: fc.integer({ min: 0, max: 2 ** 30 }),
    size: fc.integer({ min: 3, max: 25 }),
    shape: fc.constantFrom(...from),
  });

describe.each([1, 2])('on %i threads', (threads) => {
  const before = pool.threads;

  beforeAll(async () => {
    pool.threads = threads;
    if (threads > 1) await pool.ready();
  });

  afterAll(() => {
    pool.threads = before;
  });

  it('staged programs have the bits of their ops', { timeout: 3_600_000 }, () => {
    fc.assert(fc.property(arbitrary(shapes), check), {
      numRuns: runs,
      seed: threads,
      endOnFailure: true,
    });
  });

  it('large ones, too', { timeout: 3_600_000 }, () => {
    const large = [
      [1000, 200],
      [8, 600, 64],
    ];
    const numRuns = Math.ceil(runs / 10);
    fc.assert(fc.property(arbitrary(large), check), { numRuns, seed: threads, endOnFailure: true });
  });
});

afterAll(() => {
  expect(staged).toBeGreaterThan(0.6 * tried);
  for (const name of [
    ...['softmax', 'logSoftmax', 'standardizeAffine', 'sum', 'matmul', 'gelu'],
    ...['max', 'argmin', 'cumsum', 'cummax', 'prod'],
  ]) {
    expect([name, acted.get(name) ?? 0]).toEqual([name, expect.toSatisfy((n) => n > tried / 20)]);
  }
});
