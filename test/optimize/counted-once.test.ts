/** What planning a step takes grows with its ops alone: bytes of a program are counted once, inputs are walked once. */

import { expect, it } from 'vitest';
import { contiguousMeta } from '../../runtime/device/tensor-meta.ts';
import { InvariantError } from '../../runtime/errors/invariant.ts';
import { bind, withInterceptor } from '../../runtime/ops/core/bind.ts';
import { ProgramBuilder } from '../../runtime/program/builder.ts';
import { assertOp } from '../../runtime/program/control-ops.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { ForwardFacts } from '../../src/5-optimize/recompute/forward-facts.ts';
import { MemoryUses } from '../../src/5-optimize/recompute/memory-uses.ts';
import { Pressure } from '../../src/5-optimize/recompute/pressure.ts';
import { runPasses } from '../../src/5-optimize/run-passes.ts';
import { enteringWith } from '../../src/7-plan/entering.ts';
import { OpMemories } from '../../src/7-plan/op-memory.ts';
import { crossEntropy, nn, optim, randn, type Tensor, tensor, toStatic } from '../../src/index.ts';
import { memoryOptions } from '../../src/programs/memory-options.ts';
import { type PassRun, passObservers } from '../../src/programs/pass-record.ts';
import { finish } from '../../src/programs/steps.ts';

/** The program of a small training step in the order of its plan, before anything in it is fused. */
function orderedStep(): Program {
  const model = new nn.Sequential(new nn.Linear(12, 16), new nn.LayerNorm(16), new nn.GELU());
  const optimizer = new optim.AdamW(model.parameters(), { lr: 0.01 });
  const labels = tensor(Int32Array.from({ length: 8 }, (_, i) => i));
  const step = toStatic((x: Tensor) => {
    const loss = crossEntropy(model.forward(x), labels);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  });
  const records: PassRun[] = [];
  const unsubscribe = passObservers.subscribe((record) => {
    if (record.stage === 'ordered') records.push(record);
  });
  step(randn([8, 12])).dispose();
  unsubscribe();
  return records[0]!.before;
}

it('the bytes of each program are counted once, however many passes fuse it', () => {
  const program = orderedStep();
  const counted: Program[] = [];
  const costOf = (each: Program) => {
    counted.push(each);
    return 1;
  };
  const context = { stage: 'ordered', memory: memoryOptions(), gradOutputs: 0, costOf } as const;
  const applied: string[] = [];
  const record = (each: PassRun) => void (each.applied && applied.push(each.pass));
  const settings = { without: new Set<string>(), verify: true, record };
  finish(runPasses({ program, firstLate: 0, alsoRead: [] }, context, settings));
  expect(applied.length).toBeGreaterThan(1);
  expect(counted[0]).toBe(program);
  expect(counted.length).toBe(new Set(counted).size);
  expect(counted.length).toBe(1 + applied.length);
});

it('a program is verified once, however many passes leave it as it is', () => {
  const program = orderedStep();
  let verified = 0;
  /** None are: read whenever a program is verified. */
  const available: ValueId[] = [];
  available[Symbol.iterator] = () => {
    verified++;
    return [].values();
  };
  const runs: PassRun[] = [];
  const counting = { memory: memoryOptions(), gradOutputs: 0, costOf: () => 1 };
  const context = { ...counting, stage: 'ordered', available } as const;
  const settings = {
    without: new Set<string>(),
    verify: true,
    record: (run: PassRun) => runs.push(run),
  };
  const run = (given: Program) =>
    finish(runPasses({ program: given, firstLate: 0, alsoRead: [] }, context, settings));
  const { program: fused } = run(program);
  expect(runs[0]!.applied).toBe(true);
  expect(verified).toBe(runs.filter(({ applied }) => applied).length);
  runs.length = 0;
  verified = 0;
  run(fused);
  expect(runs.map(({ applied }) => applied)).not.toContain(true);
  expect(runs.length).toBeGreaterThan(1);
  expect(verified).toBe(1);
  expect(() => run({ ...fused, outputs: [fused.values.length as ValueId] })).toThrow(
    InvariantError,
  );
});

it('a program that several passes weigh is counted once in each form', () => {
  const program = orderedStep();
  const counted: Program[] = [];
  const costOf = (each: Program) => {
    counted.push(each);
    return 1;
  };
  const memory = memoryOptions({ savedMasks: false, slices: false });
  const context = { stage: 'step', memory, gradOutputs: 0, costOf } as const;
  const weighing: string[] = [];
  const record = ({ pass, program: after }: PassRun) => {
    if (['foldConstants', 'shareSubexpressions', 'simplify'].includes(pass)) {
      weighing.push(pass);
      expect(after.ops).toBe(program.ops);
    }
  };
  const settings = { without: new Set<string>(), verify: true, record };
  const firstLate = program.ops.findLastIndex((op) => op.recordsGrad) + 1;
  finish(runPasses({ program, firstLate, alsoRead: [] }, context, settings));
  expect(weighing).toHaveLength(3);
  expect(counted.filter(({ ops }) => ops === program.ops)).toHaveLength(1);
  expect(counted).toHaveLength(2);
});

it('what the inputs of a program bring is found in one walk over them', () => {
  const count = 200;
  let reads = 0;
  const ids = Array.from({ length: count }, (_, i) => i as ValueId);
  const inputs = new Proxy(ids, {
    get(target, key, receiver) {
      if (typeof key === 'string' && Number.isInteger(Number(key))) reads++;
      return Reflect.get(target, key, receiver);
    },
  });
  const { values } = orderedStep();
  const asked: number[] = [];
  const alone = (index: number) => asked.push(index) === 0;
  const bringing = enteringWith(
    { inputs, outputs: [], values, ops: [] },
    { inputsEnterAlone: alone },
  );
  for (const id of ids) bringing(id);
  expect(asked).toEqual(ids);
  expect(reads).toBe(count);
});

it('the arithmetic of each op is found once, however often a search asks for it', () => {
  const program = orderedStep();
  let found = 0;
  const counting = (op: ProgramOp): ProgramOp => {
    const work = () => ++found;
    return { ...op, op: { ...op.op, work } };
  };
  const ops = program.ops.filter(({ op }) => op.kernel.kind !== 'view').map(counting);
  const facts = new ForwardFacts({ ...program, ops }, () => true);
  const { forwardWork } = facts;
  expect(found).toBe(ops.length);
  expect(facts.forwardWork).toBe(forwardWork);
  for (const index of ops.keys()) facts.workOfOp(index);
  expect(found).toBe(ops.length);
});

it('a walk that keeps everything looks for nothing to rerun and for nothing to evict', () => {
  const program = orderedStep();
  const facts = new ForwardFacts(program, () => true);
  const memories = new OpMemories(program.values);
  const uses = new MemoryUses(facts, (op) => memories.of(op));
  const pressure = new Pressure(uses, { bytes: Number.POSITIVE_INFINITY, patience: 0, seeds: [] });
  const missing = new Set<readonly number[]>();
  for (const index of program.ops.keys()) {
    if (uses.isView[index] === 1) continue;
    pressure.advance();
    missing.add(pressure.missingFor(uses.reads[index]!));
    pressure.run(index, index, () => false);
    pressure.freeDead(uses.readsAndMakes[index]!, index);
  }
  expect([...missing]).toEqual([[]]);
  expect(pressure.priced).toBe(0);
});

it('a program knows whether it has checks, also after a rollback, without reading its ops', () => {
  const builder = new ProgramBuilder(() => {
    throw new Error('no data here');
  });
  const x = builder.input(contiguousMeta({ dtype: 'bool', shape: [] }, randn([1]).device));
  const check = () => withInterceptor(builder, () => bind(assertOp, [x]));
  expect(builder.hasChecks).toBe(false);
  builder.trial(() => {
    check();
    expect(builder.hasChecks).toBe(true);
  });
  expect(builder.hasChecks).toBe(false);
  check();
  builder.trial(check);
  expect(builder.hasChecks).toBe(true);
});
