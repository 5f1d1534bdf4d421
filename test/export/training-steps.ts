/** Whole training steps for other engines, and the losses that they have here. */

import { workload as charTransformer } from '../../examples/workloads/char-transformer.ts';
import { workload as convNet } from '../../examples/workloads/conv-net.ts';
import { workload as cswin } from '../../examples/workloads/cswin.ts';
import { workload as lstm } from '../../examples/workloads/lstm.ts';
import { workload as mlp } from '../../examples/workloads/mlp.ts';
import { randomState } from '../../runtime/random/seed.ts';
import { openWeights } from '../../runtime/weights/index.ts';
import type { exportStableHLO } from '../../src/export/index.ts';
import { nn, optim, rand, randn, seed, type Tensor, tensor, toStatic } from '../../src/index.ts';
import { withInterop } from './python.ts';

export interface Step {
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
  // The schedule writes the rate that the optimizer reads, on another path.
  const schedule = new optim.CosineAnnealingLR(optimizer, 30);
  return {
    step(x, y) {
      // Gradients stay until the next step, which reads none of them.
      optimizer.zeroGrad();
      const loss = model.forward(x!).sub(y!).square().mean();
      loss.backward();
      optimizer.step();
      schedule.step();
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

/** Two optimizers: a loss of one of them leaves gradients for the parameters of the other. */
function adversarial(): Step {
  const [maker, judge] = [new nn.Linear(3, 4), new nn.Linear(4, 1)];
  const options = { lr: 0.02, momentum: 0.5 };
  const ofMaker = new optim.SGD(maker.parameters(), options);
  const ofJudge = new optim.SGD(judge.parameters(), options);
  return {
    step(x) {
      const made = maker.forward(x!).tanh();
      const judged = judge.forward(made.detach()).sigmoid().square().mean();
      judged.backward();
      ofJudge.step();
      ofMaker.zeroGrad();
      const loss = judge.forward(made).sub(1).square().mean();
      loss.backward();
      ofMaker.step();
      return loss.add(judged).detach();
    },
    inputs: (i) => [
      tensor(
        Float32Array.from({ length: 6 }, (_, k) => Math.sin(i + 3 * k)),
        { shape: [2, 3] },
      ),
    ],
    dispose() {
      maker.dispose();
      judge.dispose();
    },
  };
}

/** Data decides how many random numbers are drawn before those of the dropout. */
function dropoutMlp(): Step {
  const model = new nn.Sequential(new nn.Linear(6, 16), new nn.Dropout(0.5), new nn.Linear(16, 3));
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.05 });
  return {
    step(x, y) {
      let noisy = x!;
      while (noisy.abs().sum().itemSync() < 30) {
        if (noisy.sum().itemSync() > 0) noisy = noisy.mul(rand([4, 6]).add(1));
        else noisy = noisy.add(randn([6]).mul(0.2).add(0.5));
      }
      const loss = model.forward(noisy).sub(y!).square().mean();
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

export interface TrainingCase {
  readonly build: () => Step;
  readonly tolerance: number;
}

const small: Readonly<Record<string, TrainingCase>> = {
  mlp: { build: () => mlp.build({ batch: 16 }), tolerance: 1e-4 },
  'GELU and LayerNorm in float64': { build: doubleMlp, tolerance: 1e-9 },
  'two optimizers, and gradients that add up from step to step': {
    build: adversarial,
    tolerance: 1e-4,
  },
  'dropout by our counters': { build: dropoutMlp, tolerance: 1e-4 },
  'char transformer': { build: () => charTransformer.build({ batch: 2 }), tolerance: 1e-4 },
};

/** They take XLA minutes to compile. */
const large: Readonly<Record<string, TrainingCase>> = {
  'conv net': { build: () => convNet.build({ batch: 4 }), tolerance: 1e-4 },
  lstm: { build: () => lstm.build({ batch: 2 }), tolerance: 1e-4 },
  'reduced CSWin': { build: () => cswin.build({ batch: 1 }), tolerance: 1e-4 },
};

export const trainingCases = { ...small, ...withInterop('large training steps', () => large) };

const smallInFloat64: Readonly<Record<string, TrainingCase>> = {
  mlp: { build: () => mlp.build({ batch: 16, dtype: 'float64' }), tolerance: 1e-9 },
  'conv net': { build: () => convNet.build({ batch: 4, dtype: 'float64' }), tolerance: 1e-9 },
};

const largeInFloat64: Readonly<Record<string, TrainingCase>> = {
  lstm: { build: () => lstm.build({ batch: 2, dtype: 'float64' }), tolerance: 1e-9 },
  'char transformer': {
    build: () => charTransformer.build({ batch: 2, dtype: 'float64' }),
    tolerance: 1e-9,
  },
  'reduced CSWin': { build: () => cswin.build({ batch: 1, dtype: 'float64' }), tolerance: 1e-9 },
};

/** The same in float64, for engines that have every op in it. */
export const float64Cases = {
  ...smallInFloat64,
  ...withInterop('large training steps in float64', () => largeInFloat64),
};

export const steps = 20;
const warmup = 3;

interface Port {
  readonly name: string;
  readonly kind: 'argument' | 'state' | 'random';
  readonly value: number | null;
}

export interface Exported {
  readonly sidecar: {
    readonly inputs: readonly Port[];
    readonly outputs: readonly { readonly name: string }[];
  };
  readonly state: Uint8Array;
}

export interface Trained<E extends Exported> {
  readonly exported: E;
  /** First values of all inputs. */
  readonly inputs: readonly Tensor[];
  /** Per later step the inputs that it brings, by number. */
  readonly batches: readonly (readonly (readonly [number, Tensor])[])[];
  /** Number of the output that is the loss. */
  readonly lossAt: number;
  readonly losses: readonly number[];
}

type Compiled = Parameters<typeof exportStableHLO>[0];

/** Three steps compile the program with its numbers; the exported one goes on from there, as ours does. */
export async function trained<E extends Exported>(
  build: () => Step,
  exportStep: (compiled: Compiled) => Promise<E>,
): Promise<Trained<E>> {
  seed(3);
  const { step, inputs, dispose } = build();
  const compiled = toStatic(step, { fullGraph: true });
  for (let i = 0; i < warmup; i++) compiled(...inputs(i));
  const exported = await exportStep(compiled);
  const { sidecar, state } = exported;
  await using weights = await openWeights(state);
  const all = Array.from({ length: steps }, (_, i) => inputs(warmup + i));
  const at = (name: string) => Number(/^arg\.(\d+)$/.exec(name)![1]);
  const now = randomState();
  const random: Readonly<Record<string, number>> = {
    'random.seed': now.seed,
    'random.offset': now.offset,
  };
  const first: Tensor[] = [];
  for (const { name, kind, value } of sidecar.inputs) {
    if (kind === 'argument') first.push(all[0]![at(name)]!);
    else if (kind === 'random') first.push(tensor(random[name]!, { dtype: 'float64' }));
    else if (value !== null) first.push(tensor(value, { dtype: 'float64' }));
    else first.push(await weights.tensor(name));
  }
  const own = sidecar.inputs.flatMap(({ kind, name }, i) =>
    kind === 'argument' ? [[i, at(name)]] : [],
  );
  const batches = all.slice(1).map((batch) => own.map(([i, k]) => [i!, batch[k!]!] as const));
  const losses = all.map((batch) => compiled(...batch).itemSync());
  dispose();
  const lossAt = sidecar.outputs.findIndex(({ name }) => name === 'result');
  return { exported, inputs: first, batches, lossAt, losses };
}
