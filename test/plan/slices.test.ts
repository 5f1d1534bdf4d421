/** Training steps that run part by part: the bits of eager execution, fewer bytes, nothing left behind. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { workload as transformer } from '../../examples/workloads/char-transformer.ts';
import { workload as convNet } from '../../examples/workloads/conv-net.ts';
import { workload as mlp } from '../../examples/workloads/mlp.ts';
import { Captured, type ToStaticOptions } from '../../src/dispatch/captured-function.ts';
import {
  crossEntropy,
  memory,
  optim,
  randn,
  refcounted,
  seed,
  type Tensor,
  tensor,
  tidy,
} from '../../src/index.ts';

const bytesNow = () => memory.stats('cpu').allocated;
let before = 0;
beforeEach(() => {
  before = bytesNow();
});
afterEach(() => {
  expect(bytesNow()).toBe(before);
});

const workloads = { mlp, 'convolutional net': convNet, 'character transformer': transformer };
type Name = keyof typeof workloads;

interface Outcome {
  readonly losses: number[];
  readonly parameters: number[][];
  readonly ops: ReadonlySet<string>;
  readonly peak: number;
  readonly predicted: number;
}

/** Some steps of training, eagerly where no options are given. */
function train(name: Name, options: ToStaticOptions | null, steps = 4): Outcome {
  seed(5);
  const built = workloads[name].build();
  const captured = options && new Captured(built.step as Captured['fn'], options);
  const eager = refcounted(built.step);
  const losses: number[] = [];
  let peak = 0;
  for (let i = 0; i < steps; i++) {
    const batch = built.inputs(i);
    memory.reset('cpu');
    const start = bytesNow();
    const loss = captured ? (captured.call(undefined, batch) as Tensor) : eager(...batch);
    peak = memory.stats('cpu').peakAllocated - start;
    losses.push(loss.itemSync());
    for (const each of [loss, ...batch]) each.dispose();
  }
  const forward = captured?.parts.at(-1)?.stages?.planned.forward;
  const outcome = {
    losses,
    parameters: [...built.model.parameters()].map((own) => [...own.dataSync()]),
    ops: new Set(forward?.steps.map(({ op }) => op.op.name)),
    peak,
    predicted: forward?.predicted.peakBytes ?? 0,
  };
  built.dispose();
  return outcome;
}

describe.each([
  ['mlp', 'narrow', 0.5],
  ['convolutional net', 'addConv2dWeightGrad_', 0.08],
  ['character transformer', 'addMatmul_', 0.3],
] as const)('%s', (name, op, share) => {
  it('has the bits of eager execution, the bytes of the plan, and fewer than in one piece', () => {
    const smallest = { memory: { prefer: 'bytes' } } as const;
    // Fused by rows, a product and the update that reads it need as little without slices.
    const unsliced = { memory: { slices: false }, passes: { fuseRows: false } };
    const [eager, whole, sliced] = [null, unsliced, smallest].map((options) =>
      train(name, options),
    ) as [Outcome, Outcome, Outcome];
    expect(sliced.ops).toContain(op);
    expect(whole.ops).not.toContain(op);
    expect(sliced.losses).toEqual(eager.losses);
    expect(sliced.parameters).toEqual(eager.parameters);
    expect(sliced.peak).toBe(sliced.predicted);
    expect(sliced.peak).toBeLessThan(share * whole.peak);
  });
});

it.each([
  ['labels of all rows', [0, 3, 1, 4]],
  ['some without a label', [2, -100, 4, 0]],
  ['a slice without labels', [-100, 1]],
  ['no labels at all', [-100]],
] as const)('%s: the loss has its bits, and no slices are put together for it', (_, labels) => {
  const [rows, inner, classes] = [256, 32, 128];
  const outcome = (options: ToStaticOptions | null) => {
    seed(3);
    const [w, x] = tidy(() => [randn([inner, classes]).mul(0.1), randn([rows, inner])] as const);
    w.requiresGrad_();
    const optimizer = new optim.SGD([w], { lr: 0.5 });
    // Whole slices may have none.
    const numbers = Int32Array.from({ length: rows }, (_, i) => {
      return labels[
        labels.length > 2 ? i % labels.length : Math.floor((i * labels.length) / rows)
      ]!;
    });
    const y = tensor(numbers);
    const step = (x: Tensor, y: Tensor): Tensor => {
      const loss = crossEntropy(x.matmul(w), y);
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    };
    const captured = options && new Captured(step as Captured['fn'], options);
    const losses = Array.from({ length: 3 }, () => {
      const loss = captured ? (captured.call(undefined, [x, y]) as Tensor) : tidy(() => step(x, y));
      const value = loss.itemSync();
      loss.dispose();
      return value;
    });
    const steps = captured?.parts.at(-1)?.stages?.planned.forward.steps ?? [];
    const flat = steps.flatMap(({ op }) => op.parts ?? [op]);
    const weights = [...w.dataSync()];
    for (const each of [w, x, y, optimizer]) each.dispose();
    return { values: { losses, weights }, ops: new Set(flat.map(({ op }) => op.name)) };
  };
  const sliced = outcome({ memory: { prefer: 'bytes' } });
  expect(sliced.values).toEqual(outcome(null).values);
  for (const name of ['labelScores', 'nllLossOfScores']) expect(sliced.ops).toContain(name);
  expect(sliced.ops).not.toContain('nllLoss');
});

it.each(['mlp', 'character transformer'] as const)(
  '%s: a label that is no class is refused as eagerly, before anything is written',
  (name) => {
    const refused = (options: ToStaticOptions | null) => {
      seed(5);
      const built = workloads[name].build();
      const captured = options && new Captured(built.step as Captured['fn'], options);
      const eager = refcounted(built.step);
      const step = (batch: Tensor[]): Tensor =>
        captured ? (captured.call(undefined, batch) as Tensor) : eager(...batch);
      // Compiled with good labels.
      for (let i = 0; i < 2; i++) {
        const batch = built.inputs(i);
        for (const each of [step(batch), ...batch]) each.dispose();
      }
      const values = () => [...built.model.parameters()].map((own) => [...own.dataSync()]);
      const [untouched, bytes] = [values(), bytesNow()];
      const batch = built.inputs(2);
      const [, labels] = batch;
      tidy(() => void labels!.narrow(0, labels!.shape[0]! - 1, 1).fill_(1000));
      let message = '';
      try {
        // What was refused is run again eagerly, for the error's stack: its tensors are the caller's.
        tidy(() => step(batch));
      } catch (error) {
        message = (error as Error).message;
      }
      for (const each of batch) each.dispose();
      expect(values()).toEqual(untouched);
      expect(bytesNow()).toBe(bytes);
      built.optimizer.zeroGrad();
      built.dispose();
      return message;
    };
    const eager = refused(null);
    expect(eager).toContain('a label is not a class');
    const sliced = refused({ memory: { prefer: 'bytes' } });
    expect(sliced).toBe(refused({ memory: { slices: false } }));
    // What, given and expected; a captured call adds where it was.
    const facts = (message: string) => message.split('\n').slice(0, 3);
    expect(facts(sliced)).toEqual(facts(eager));
  },
);
