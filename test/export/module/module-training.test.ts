/** Whole training steps as modules: the losses and the state of ours, to the last bit. */

import { describe, expect, it } from 'vitest';
import { workload as convNet } from '../../../examples/workloads/conv-net.ts';
import { workload as lstm } from '../../../examples/workloads/lstm.ts';
import {
  ArgumentError,
  type LoadedProgram,
  loadProgram,
  nn,
  optim,
} from '../../../runtime/index.ts';
import { exportModule } from '../../../src/export/index.ts';
import { randn, save, seed, type Tensor, toStatic } from '../../../src/index.ts';
import { float64Cases, type Step, type TrainingCase, trainingCases } from '../training-steps.ts';
import { imported, type ModuleTensor } from './module-instance.ts';

/** Ours would be different numbers, drawn by other threads, if places in the stream depended on anything else. */
function dropout(): Step {
  const model = new nn.Sequential(
    ...[new nn.Linear(6, 17), new nn.ReLU(), new nn.Dropout(0.3), new nn.Linear(17, 5)],
    new nn.Dropout(0.5),
  );
  const optimizer = new optim.AdamW(model.parameters(), { lr: 0.01 });
  const schedule = new optim.CosineAnnealingLR(optimizer, 30);
  return {
    step(x) {
      const loss = model
        .forward(x!)
        .add(randn([5]).mul(0.1))
        .square()
        .mean();
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      schedule.step();
      return loss;
    },
    inputs: () => [randn([3, 6])],
    dispose: () => model.dispose(),
  };
}

/** Weights in halves, which kernels of products read in float32. */
function halves(): Step {
  const first = new nn.Linear(6, 9);
  const model = new nn.Sequential(first, new nn.GELU(), new nn.Linear(9, 4));
  model.to('bfloat16');
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.3, momentum: 0.5 });
  return {
    step(x) {
      const loss = model.forward(x!).softmax(1).square().mean();
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss.to('float32').add(first.weight.to('float32').sum());
    },
    inputs: () => [randn([5, 6]).to('bfloat16')],
    dispose: () => model.dispose(),
  };
}

const cases: Readonly<Record<string, TrainingCase>> = {
  ...trainingCases,
  ...Object.fromEntries(
    Object.entries(float64Cases).map(([name, each]) => [`${name} in float64`, each]),
  ),
  'conv net': { build: () => convNet.build({ batch: 4 }), tolerance: 0 },
  lstm: { build: () => lstm.build({ batch: 2 }), tolerance: 0 },
  halves: { build: halves, tolerance: 0 },
  'dropout, and a schedule': { build: dropout, tolerance: 0 },
};

/** The share of the planned bytes that no layout was found without. */
const gaps: Readonly<Record<string, number>> = { lstm: 0.002, 'lstm in float64': 0.002 };

const refused: Readonly<Record<string, RegExp>> = {
  'dropout by our counters': /while has no form in a module/,
};

async function savedStep(name: string) {
  seed(3);
  const { step, inputs, dispose } = cases[name]!.build();
  const compiled = toStatic(step, { fullGraph: true });
  for (let i = 0; i < 3; i++) compiled(...inputs(i));
  const file = await save(compiled);
  const batches = Array.from({ length: 20 }, (_, i) => inputs(3 + i));
  dispose();
  return { file, batches };
}

const mapped = Object.keys(cases).filter((name) => !refused[name]);

describe('training steps as modules', () => {
  it.each(mapped)('%s: 20 losses and the state', { timeout: 120_000 }, async (name) => {
    const { file, batches } = await savedStep(name);
    const loaded: LoadedProgram = await loadProgram(file);
    const { code, memory } = await exportModule(file);
    const { memory: stated, instantiate } = await imported(code);
    const model = await instantiate({ seed: 7 });
    seed(7);
    const losses = batches.map((batch) => (loaded(...batch) as Tensor).itemSync());
    const theirs = batches.map((batch) => {
      return (model.run(...batch.map((each) => each.dataSync())) as ModuleTensor).data[0];
    });
    expect(theirs).toEqual(losses);
    expect(new Set(losses).size).toBe(20);
    const own = Object.entries(loaded.state());
    expect(own.length).toBeGreaterThan(3);
    const state = model.state();
    for (const [key, tensor] of own) expect(state[key]!.data, key).toEqual(tensor.dataSync());
    expect(model.variables()).toEqual(loaded.variables());
    // What a run takes is what the plan says, in one block without gaps.
    expect(stated).toEqual(memory);
    expect(memory.planned).toBe(loaded.predicted()!.peakBytes);
    expect(memory.arena).toBeGreaterThanOrEqual(memory.planned);
    expect(memory.arena / memory.planned - 1).toBeLessThanOrEqual(gaps[name] ?? 0);
    const { arena, state: stateBytes, arguments: args, scratch, total } = memory;
    expect(arena + stateBytes + args + scratch).toBe(total);
    loaded.dispose();
  });

  it.each(Object.entries(refused))('%s: refused by name', async (name, message) => {
    const { file } = await savedStep(name);
    const failing = exportModule(file);
    await expect(failing).rejects.toThrow(ArgumentError);
    await expect(failing).rejects.toThrow(message);
    await expect(failing).rejects.toThrow(/tostatic\/load/);
  });
});
