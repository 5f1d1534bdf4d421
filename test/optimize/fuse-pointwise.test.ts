/** Random graphs of pointwise ops, fused and op by op: results and what is written have the same bits. */

import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { deviceNamed } from '../../runtime/device/current.ts';
import { contiguousMeta } from '../../runtime/device/tensor-meta.ts';
import { withInterceptor } from '../../runtime/ops/core/bind.ts';
import { addcdiv_, addcmul_, mul_ } from '../../runtime/ops/in-place/in-place.ts';
import { ProgramBuilder } from '../../runtime/program/builder.ts';
import type { Program, ValueId } from '../../runtime/program/program.ts';
import {
  add,
  clamp,
  type DType,
  div,
  exp,
  gelu,
  lt,
  maximum,
  mul,
  relu,
  sigmoid,
  sqrt,
  type Tensor,
  tanh,
  where,
} from '../../src/index.ts';
import { randomInts } from '../plan/random-program.ts';
import { type Ran, runWithout } from './run-without.ts';

const dtypes = [
  'float32',
  'float32',
  'float64',
  'int32',
  'bool',
  'uint8',
  'float16',
  'bfloat16',
] as const;
const shapes = [[], [0], [1], [7], [1023], [1025], [5000], [5, 7], [3, 400], [2, 3, 70]] as const;

interface Given {
  readonly seed: number;
  readonly size: number;
  readonly shape: readonly number[];
}

/** Rows, columns and single elements broadcast; the last input is walked across. */
function inputShapes(shape: readonly number[]): number[][] {
  const row = shape.slice(-1);
  const column = shape.map((size, d) => (d === shape.length - 1 ? 1 : size));
  return [[...shape], [...shape], row, column, [], [...shape].reverse()];
}

function program({ seed, size, shape }: Given): Program {
  const below = randomInts(seed);
  const device = deviceNamed('cpu');
  const builder = new ProgramBuilder(() => {
    throw new Error('no tensor from outside');
  });
  return withInterceptor(builder, () =>
    noGrad(() => {
      const inputs = inputShapes(shape).map((dims) => {
        const dtype = dtypes[below(dtypes.length)]!;
        return builder.input(contiguousMeta({ dtype, shape: dims }, device));
      });
      const values: Tensor[] = inputs.slice(0, -1);
      const across = inputs.at(-1)!;
      values.push(across.permute([...across.shape.keys()].reverse()));
      const isWhole = (value: Tensor) => value.shape.join() === shape.join();
      const pick = (): Tensor => values[below(values.length)]!;
      const whole = (): Tensor => values.filter(isWhole)[below(values.filter(isWhole).length)]!;
      const floating = (): Tensor => {
        const found = whole();
        return found.dtype.includes('float') ? found : found.to('float32');
      };
      const makers: readonly (() => Tensor | null)[] = [
        () => add(whole(), pick()),
        () => mul(whole(), pick()),
        () => mul(whole(), 0.3),
        () => tanh(floating()),
        () => exp(clamp(floating(), -3, 2)),
        () => gelu(floating()),
        () => sigmoid(floating()),
        () => relu(whole()),
        () => div(floating(), 3),
        () => maximum(whole(), pick()),
        () => sqrt(floating()),
        () => where(lt(whole(), pick()), whole(), pick()),
        () => whole().to(dtypes[below(dtypes.length)]! as DType),
        () => {
          const target = inputs[below(2)]!;
          if (target.dtype.includes('float')) mul_(target, 0.75);
          else mul_(target, target);
          return null;
        },
        () => {
          const target = floating();
          const like = (): Tensor => whole().to(target.dtype);
          if (below(2) === 0) addcmul_(target, like(), like(), 0.5);
          else addcdiv_(target, like(), add(like(), 2), -0.25);
          return null;
        },
      ];
      for (let i = 0; i < size; i++) {
        const made = makers[below(makers.length)]!();
        if (made) values.push(made);
      }
      const outputs = new Set<ValueId>([builder.valueOf(values.at(-1)!)]);
      for (let i = below(3); i > 0; i--) outputs.add(builder.valueOf(pick()));
      return builder.finish([...outputs]);
    }),
  );
}

/** The passes that make one op of several. */
const fusing = ['fusePointwise', 'fuseRows', 'fuseUpdates'];

let [fused, tried] = [0, 0];

const shards = 4;
const runs = Number(process.env.GENERATED_RUNS ?? 60);

for (let shard = 0; shard < shards; shard++) {
  it(`fused programs have the bits of their ops, part ${shard}`, { timeout: 3_600_000 }, () => {
    const arbitrary = fc.record({
      seed: fc.integer({ min: 0, max: 2 ** 30 }),
      size: fc.integer({ min: 3, max: 40 }),
      shape: fc.constantFrom(...shapes),
    });
    const check = (given: Given): void => {
      const made = program(given);
      const [plain, done] = [fusing, []].map((passes) =>
        runWithout(passes, made, { seed: given.seed, largest: 4 }),
      ) as [Ran, Ran];
      expect(done.bytes).toEqual(plain.bytes);
      expect(done.peak).toBe(done.planned.forward.predicted.peakBytes);
      expect(done.peak).toBeLessThanOrEqual(plain.peak);
      tried++;
      if (done.planned.forward.steps.some(({ op }) => op.parts)) fused++;
    };
    fc.assert(fc.property(arbitrary, check), {
      numRuns: runs,
      seed: shard + 1,
      endOnFailure: true,
    });
  });
}

afterAll(() => {
  expect(fused).toBeGreaterThan(0.8 * tried);
});
