/** Training steps of one module with one optimizer, made from a seed. */

import {
  breakGraph,
  crossEntropy,
  mseLoss,
  nn,
  noGrad,
  type optim,
  randn,
  seed,
  type Tensor,
  tensor,
  tidy,
} from '../../src/index.ts';
import { Choices } from './choices.ts';
import { type Subject, subjects } from './modules.ts';
import { optimizers } from './optimizers.ts';

export interface TrainingCase {
  readonly module: string;
  readonly optimizer: string;
  readonly seed: number;
}

export interface Training {
  readonly modules: readonly nn.Module[];
  readonly optimizer: optim.Optimizer;
  readonly step: (...batch: Tensor[]) => Tensor;
  /** The tensors of step number `index`. */
  readonly batch: (index: number) => Tensor[];
}

type Objective = (output: Tensor, target: Tensor) => Tensor;

interface Goal {
  readonly head: readonly nn.Module[];
  readonly objective: Objective;
  readonly target: () => Tensor;
}

const classes = 5;

export function buildTraining(given: TrainingCase): Training {
  const choices = new Choices(given.seed);
  seed(given.seed);
  const subject = subjects[given.module]!(choices);
  const { count, shape } = sizesOf(subject);
  const { head, objective, target } = goalOf(choices, shape);
  const modules = [...subject.modules, ...head];
  const parameters = modules.flatMap((module) => [...module.parameters()]);
  const optimizer = optimizers[given.optimizer]!(choices, parameters);
  const backwards = choices.of([1, 1, 2]);
  const clipped = choices.of(['no', 'no', 'norm', 'value'] as const);
  const zeroFirst = choices.chance(0.2);
  const isStrided = choices.chance(0.3);
  // Then what is made before the break dies in the program after it.
  const isBroken = choices.chance(0.25);

  const step = (...batch: Tensor[]): Tensor => {
    if (zeroFirst) optimizer.zeroGrad();
    let total: Tensor | null = null;
    for (let i = 0; i < backwards; i++) {
      const [given, ...others] = batch.slice(i * (count + 1), (i + 1) * (count + 1));
      const labels = others.pop()!;
      let first = given!;
      if (isBroken && first.dtype === 'float32') {
        first = first.mul(0.5);
        breakGraph();
      }
      const loss = objective(subject.forward(first, ...others), labels);
      loss.backward();
      total = total === null ? loss.detach() : total.add(loss.detach());
    }
    if (clipped === 'norm') nn.utils.clipGradNorm_(parameters, 0.5);
    if (clipped === 'value') nn.utils.clipGradValue_(parameters, 0.01);
    optimizer.step();
    if (!zeroFirst) optimizer.zeroGrad();
    return total!;
  };

  const batch = (index: number): Tensor[] => {
    seed(1000 * (given.seed + 1) + index);
    return Array.from({ length: backwards }, () => [
      ...tidy(() => subject.input().map((own) => (isStrided ? transposed(own) : own))),
      target(),
    ]).flat();
  };
  return { modules, optimizer, step, batch };
}

function sizesOf({ input, forward }: Subject) {
  return tidy(() =>
    noGrad(() => {
      const given = input();
      return { count: given.length, shape: forward(...given).shape };
    }),
  );
}

function goalOf(choices: Choices, shape: readonly number[]): Goal {
  const kind = choices.of(['classes', 'classes', 'squares', 'product'] as const);
  if (kind === 'classes') {
    const width = shape.at(-1)!;
    const rows = shape.slice(0, -1).reduce((product, size) => product * size, 1);
    const head = new nn.Linear(width, classes);
    const objective = (output: Tensor, labels: Tensor) =>
      crossEntropy(head.forward(output.reshape([rows, width])), labels);
    const labels = Int32Array.from({ length: rows }, (_, i) => (i * 7) % classes);
    return { head: [head], objective, target: () => tensor(labels) };
  }
  const target = () => randn(shape);
  if (kind === 'squares') return { head: [], objective: (y, t) => mseLoss(y, t), target };
  return { head: [], objective: (y, t) => y.mul(t).mean(), target };
}

/** The same elements with the first two dimensions swapped in memory. */
function transposed(x: Tensor): Tensor {
  if (x.rank < 2 || x.dtype !== 'float32') return x;
  return x.transpose(0, 1).contiguous().transpose(0, 1);
}
