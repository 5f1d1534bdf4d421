/** Whole training steps in XLA: the losses of ours, step by step. */

import { beforeAll, describe, expect, it } from 'vitest';
import { workload as charTransformer } from '../../examples/workloads/char-transformer.ts';
import { workload as convNet } from '../../examples/workloads/conv-net.ts';
import { workload as cswin } from '../../examples/workloads/cswin.ts';
import { workload as lstm } from '../../examples/workloads/lstm.ts';
import { workload as mlp } from '../../examples/workloads/mlp.ts';
import { openWeights } from '../../runtime/weights/index.ts';
import { exportStableHLO } from '../../src/export/index.ts';
import { nn, optim, seed, type Tensor, tensor, toStatic } from '../../src/index.ts';
import { runInXla, type XlaJob, type XlaResult, xlaPython } from './xla.ts';

interface Step {
  readonly step: (...inputs: Tensor[]) => Tensor;
  readonly inputs: (i: number) => Tensor[];
  readonly dispose: () => void;
}

/** The same networks in float64 where everything they compute is. */
function doubleMlp(): Step {
  const model = new nn.Sequential(
    new nn.Linear(6, 8),
    new nn.GELU(),
    new nn.LayerNorm(8),
    new nn.Linear(8, 3),
  );
  model.to('float64');
  const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-2 });
  return {
    step(x, y) {
      const loss = model.forward(x!).sub(y!).square().mean();
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    },
    inputs: (i) => [
      tensor(
        Float64Array.from({ length: 24 }, (_, k) => Math.sin(i + 3 * k)),
        { shape: [4, 6] },
      ),
      tensor(
        Float64Array.from({ length: 12 }, (_, k) => Math.cos(i * k)),
        { shape: [4, 3] },
      ),
    ],
    dispose: () => model.dispose(),
  };
}

function dropoutMlp(): Step {
  const model = new nn.Sequential(new nn.Linear(6, 16), new nn.Dropout(0.5), new nn.Linear(16, 3));
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.05 });
  return {
    step(x, y) {
      const loss = model.forward(x!).sub(y!).square().mean();
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    },
    inputs: (i) => [
      tensor(
        Float32Array.from({ length: 24 }, (_, k) => Math.sin(i + 3 * k)),
        { shape: [4, 6] },
      ),
      tensor(
        Float32Array.from({ length: 12 }, (_, k) => Math.cos(i * k)),
        { shape: [4, 3] },
      ),
    ],
    dispose: () => model.dispose(),
  };
}

interface Case {
  readonly build: () => Step;
  readonly tolerance: number;
}

const small: Readonly<Record<string, Case>> = {
  mlp: { build: () => mlp.build({ batch: 16 }), tolerance: 1e-4 },
  'mlp in float64': { build: doubleMlp, tolerance: 1e-9 },
  'dropout by our counters': { build: dropoutMlp, tolerance: 1e-4 },
  'char transformer': { build: () => charTransformer.build({ batch: 2 }), tolerance: 1e-4 },
};

/** They take XLA minutes to compile. */
const large: Readonly<Record<string, Case>> = {
  'conv net': { build: () => convNet.build({ batch: 4 }), tolerance: 1e-4 },
  lstm: { build: () => lstm.build({ batch: 2 }), tolerance: 1e-4 },
  'reduced CSWin': { build: () => cswin.build({ batch: 1 }), tolerance: 1e-4 },
};

const cases = process.env.INTEROP ? { ...small, ...large } : small;

const steps = 20;
const warmup = 3;

interface Made {
  readonly job: XlaJob;
  readonly lossAt: number;
  readonly losses: readonly number[];
}

/** Three steps compile the program with its numbers; the exported one goes on from there, as ours does. */
async function trained(build: () => Step): Promise<Made> {
  seed(3);
  const { step, inputs, dispose } = build();
  const compiled = toStatic(step, { fullGraph: true });
  for (let i = 0; i < warmup; i++) compiled(...inputs(i));
  const { text, sidecar, state } = await exportStableHLO(compiled);
  await using weights = await openWeights(state);
  const batches = Array.from({ length: steps }, (_, i) => inputs(warmup + i));
  const at = (name: string) => Number(/^arg\.(\d+)$/.exec(name)![1]);
  const random: Readonly<Record<string, number>> = await randomNow();
  const first: Tensor[] = [];
  for (const { name, kind, value } of sidecar.inputs) {
    if (kind === 'argument') first.push(batches[0]![at(name)]!);
    else if (kind === 'random') first.push(tensor(random[name]!, { dtype: 'float64' }));
    else if (value !== null) first.push(tensor(value, { dtype: 'float64' }));
    else first.push(await weights.tensor(name));
  }
  const own = sidecar.inputs.flatMap(({ kind, name }, i) =>
    kind === 'argument' ? [[i, at(name)]] : [],
  );
  const later = batches.slice(1).map((batch) => own.map(([i, k]) => [i!, batch[k!]!] as const));
  const losses = batches.map((batch) => compiled(...batch).itemSync());
  const job = { text, outputs: sidecar.outputs, inputs: first, steps, batches: later };
  dispose();
  return { job, lossAt: sidecar.outputs.findIndex(({ name }) => name === 'result'), losses };
}

async function randomNow(): Promise<Readonly<Record<string, number>>> {
  const { randomState } = await import('../../runtime/random/seed.ts');
  const { seed: own, offset } = randomState();
  return { 'random.seed': own, 'random.offset': offset };
}

const python = xlaPython();
const made = new Map<string, Made>();
let results: Record<string, XlaResult> = {};
beforeAll(async () => {
  for (const [name, { build }] of Object.entries(cases)) made.set(name, await trained(build));
  if (!python) return;
  const jobs = [...made].map(([name, { job }]) => [name, job] as const);
  results = await runInXla(python, Object.fromEntries(jobs));
}, 300_000);

describe('training steps in StableHLO', () => {
  it.each(Object.keys(cases))('keep their state from step to step: %s', (name) => {
    const { job } = made.get(name)!;
    expect(job.outputs.filter(({ feeds }) => feeds !== null).length).toBeGreaterThan(3);
    expect(job.text).toContain('func.func public @main');
  });

  it.runIf(python).each(Object.keys(cases))('have our losses in XLA: %s', (name) => {
    const { losses, lossAt } = made.get(name)!;
    const found = results[name]!;
    expect('error' in found ? found.error : '').toBe('');
    const theirs = losses.map(
      (_, i) => (found as Record<string, ArrayLike<number>>)[`o${lossAt}.${i}`]![0]!,
    );
    const difference = Math.max(...theirs.map((loss, i) => Math.abs(loss - losses[i]!)));
    expect(difference).toBeLessThan(cases[name]!.tolerance);
    expect(new Set(losses).size).toBe(steps);
  });
});
