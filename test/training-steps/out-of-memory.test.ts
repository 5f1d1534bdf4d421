/**
 * A captured step that finds too little memory, at any place, leaves everything as it was; of the gradients of the
 * step before, which it gives back first, none are left, as in eager execution.
 */

import { afterEach, describe, expect, it, vi } from 'vitest';
import { BufferPool, type BufferSource } from '../../runtime/device/gpu/core/buffer-pool.ts';
import { randomState } from '../../runtime/random/seed.ts';
import { withCaptureSession } from '../../src/1-capture/capture.ts';
import { Captured, type ToStaticOptions } from '../../src/dispatch/captured-function.ts';
import {
  init,
  type MemoryChoice,
  memory,
  noGrad,
  OutOfMemoryError,
  randn,
  type Tensor,
  toStatic,
} from '../../src/index.ts';
import { failAt } from '../run-program/fail-at.ts';
import { limitMemory } from '../run-program/limited-memory.ts';
import { shareOfDay } from '../share-of-day.ts';
import { bitsOf } from './run-steps.ts';
import { buildTraining, type Training, type TrainingCase } from './training-case.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const cases: readonly TrainingCase[] = [
  { module: 'Linear', optimizer: 'SGD', seed: 900 },
  { module: 'Conv2d', optimizer: 'AdamW', seed: 905 },
  { module: 'BatchNorm2d', optimizer: 'Adagrad', seed: 908 },
  { module: 'Dropout', optimizer: 'RMSprop', seed: 918 },
  { module: 'GRU', optimizer: 'Adam', seed: 331 },
  { module: 'TransformerEncoderLayer', optimizer: 'NAdam', seed: 933 },
];

const choices: readonly MemoryChoice[] = [
  { prefer: 'bytes' },
  'cleaned',
  { prefer: 'bytes', arena: false },
];

/** Everything that a step changes, to the bit. */
function stateOf({ modules, optimizer }: Training): string {
  const data = (all: Iterable<Tensor>) => [...all].map(bitsOf);
  const { state, counts, groups } = optimizer.stateDict();
  return JSON.stringify([
    modules.map((module) => data(Object.values(module.stateDict()))),
    Object.values(state).map(data),
    [counts, groups, randomState()],
  ]);
}

const gradientsOf = ({ optimizer }: Training): readonly (string | null)[] =>
  optimizer.parameters.map(({ grad }) => grad && bitsOf(grad));

/** As the allocator counts them. */
const gradientBytes = ({ optimizer }: Training): number =>
  optimizer.parameters.reduce(
    (sum, { grad }) => sum + (grad ? 64 * Math.ceil(grad.nbytes / 64) : 0),
    0,
  );

const bytesNow = () => memory.stats('cpu').allocated;

/** Returns how often a step failed under the limits, which it passes at last. */
function failures(
  given: TrainingCase,
  memory: MemoryChoice,
  limit: (nth: number) => void,
  options: ToStaticOptions = {},
): number {
  const training = buildTraining(given);
  const captured = new Captured(training.step as Captured['fn'], { ...options, memory });
  const run = (batch: Tensor[]) => captured.call(undefined, batch) as Tensor;
  for (let i = 0; i < 2; i++) {
    const batch = training.batch(i);
    for (const each of [run(batch), ...batch]) each.dispose();
  }
  const batch = training.batch(2);
  const before = stateOf(training);
  let [bytes, gradients] = [bytesNow(), gradientsOf(training)];
  let failed = 0;
  for (let nth = 0; nth < 1000; nth++) {
    const oldGradients = gradientBytes(training);
    limit(nth);
    let loss: Tensor | undefined;
    try {
      loss = run(batch);
    } catch (error) {
      expect(error).toBeInstanceOf(OutOfMemoryError);
      failed++;
    }
    vi.restoreAllMocks();
    if (loss) {
      loss.dispose();
      break;
    }
    expect(stateOf(training), `after failure ${nth}`).toBe(before);
    if (gradientBytes(training) < oldGradients) {
      gradients = gradients.map(() => null);
      bytes -= oldGradients;
    }
    expect(gradientsOf(training), `after failure ${nth}`).toEqual(gradients);
    expect(bytesNow(), `after failure ${nth}`).toBe(bytes);
  }
  expect(stateOf(training)).not.toBe(before);
  training.optimizer.zeroGrad();
  for (const each of [...batch, ...training.modules, training.optimizer]) each.dispose();
  return failed;
}

describe.each(shareOfDay(cases))('training-steps/out of memory: $module, $optimizer', (given) => {
  it('at any allocation', () => {
    withCaptureSession(() => {
      for (const choice of choices) expect(failures(given, choice, failAt)).toBeGreaterThan(0);
    });
  });

  it('with any small memory', () => {
    withCaptureSession(() => {
      const limit = (nth: number) => limitMemory(256 * 1.3 ** nth);
      for (const choice of choices) expect(failures(given, choice, limit)).toBeGreaterThan(5);
    });
  });
});

it('a step whose first plan gives way to the final one', () => {
  withCaptureSession(() => {
    // A check of the final plan would need memory of its own.
    const count = failures(cases[4]!, { arena: false }, failAt, { check: 0 });
    expect(count).toBeGreaterThan(60);
  });
});

it('memory that a branch takes after a write', () => {
  const [weight, x] = [randn([64]), randn([64])];
  const step = toStatic(
    (input: Tensor) => {
      noGrad(() => void weight.mul_(0.5));
      const y = input.sum().itemSync() > 100 ? input.mul(2).exp() : input.add(1).exp().mul(weight);
      noGrad(() => void weight.add_(y));
      return y;
    },
    { fullGraph: true, check: 0 },
  );
  step(x).dispose();
  const [before, bytes] = [[...weight.dataSync()], bytesNow()];
  let failed = 0;
  for (let nth = 0; nth < 20; nth++) {
    failAt(nth);
    try {
      step(x).dispose();
      break;
    } catch (error) {
      expect(error).toBeInstanceOf(OutOfMemoryError);
      failed++;
    } finally {
      vi.restoreAllMocks();
    }
    expect([...weight.dataSync()]).toEqual(before);
    expect(bytesNow()).toBe(bytes);
  }
  expect(failed).toBeGreaterThan(2);
  for (const each of [weight, x]) each.dispose();
});

it.each(['cpu', 'cpu:1'])(
  'memory on %s that a step on two devices takes after a write',
  async (name) => {
    const [first, second] = [await init('cpu'), await init('cpu:1')];
    const failing = name === 'cpu' ? first : second;
    const [weight, x] = [randn([64]), randn([64])];
    const scale = await randn([64]).toAsync('cpu:1');
    const step = toStatic(
      (input: Tensor) => {
        noGrad(() => void weight.mul_(0.5));
        const there = input.to('cpu:1').mul(scale).exp();
        noGrad(() => void scale.add_(there.sub(1)));
        const back = there.to('cpu').mul(2);
        noGrad(() => void weight.add_(back.tanh()));
        return back;
      },
      // Fused, the step takes memory once.
      { fullGraph: true, check: 0, passes: { fusePointwise: false } },
    );
    step(x).dispose();
    const data = () => [weight, scale].map((each) => [...each.dataSync()]);
    const bytes = () => [first, second].map((each) => memory.stats(each.name).allocated);
    const [before, bytesBefore] = [data(), bytes()];
    let failed = 0;
    for (let nth = 0; nth < 30; nth++) {
      failAt(nth, failing);
      try {
        step(x).dispose();
        break;
      } catch (error) {
        expect(error).toBeInstanceOf(OutOfMemoryError);
        failed++;
      } finally {
        vi.restoreAllMocks();
      }
      expect(data(), `after failure ${nth}`).toEqual(before);
      expect(bytes(), `after failure ${nth}`).toEqual(bytesBefore);
    }
    expect(failed).toBeGreaterThan(1);
    expect(data()).not.toEqual(before);
    for (const each of [weight, scale, x]) each.dispose();
  },
);

describe('a device without regions', () => {
  /** A pool whose source makes so many buffers. */
  function poolOf(buffers: number): BufferPool {
    let made = 0;
    return new BufferPool('test', {
      maxBufferBytes: 2 ** 20,
      limitedBy: 'the test',
      createBuffer: () => {
        if (made++ >= buffers) throw new Error('no more buffers');
        return {} as ReturnType<BufferSource['createBuffer']>;
      },
      destroyBuffer: () => {},
      reuseBuffer: () => {},
    });
  }

  it('has memory for what was reserved', () => {
    const pool = poolOf(3);
    pool.reserve([64, 128, 64]);
    expect([pool.counter.allocated, pool.idleBytes]).toEqual([0, 256]);
    const taken = [64, 64, 128].map((bytes) => pool.alloc(bytes));
    expect(new Set(taken).size).toBe(3);
    expect(() => pool.alloc(64)).toThrow(OutOfMemoryError);
  });

  it('refuses before anything is written where there is too little', () => {
    const pool = poolOf(2);
    expect(() => pool.reserve([64, 64, 64])).toThrow(OutOfMemoryError);
    expect([pool.counter.allocated, pool.idleBytes]).toEqual([0, 128]);
    expect(() => pool.reserve([2 ** 21])).toThrow(OutOfMemoryError);
  });
});
