/** A workload trained eagerly and as a captured step. */

import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { type CapturedStats, type nn, seed, type Tensor, tidy, toStatic } from '../../src/index.ts';
import type { BuiltWorkload, WorkloadOptions } from '../../src/lab/compare/workload.ts';

type Step = (...inputs: Tensor[]) => Tensor;

interface Trained {
  readonly losses: number[];
  /** A digest of all parameters after each step. */
  readonly parameters: string[];
}

interface Trainable {
  readonly build: (
    options: Partial<WorkloadOptions>,
  ) => BuiltWorkload & { readonly model: nn.Module };
}

function digestOf(model: nn.Module): string {
  const hash = createHash('sha256');
  for (const own of model.parameters()) hash.update(own.dataSync());
  return hash.digest('hex');
}

function train(
  workload: Trainable,
  batch: number,
  steps: number,
  prepare: (step: Step) => Step,
): Trained {
  seed(3);
  const built = workload.build({ batch });
  const step = prepare(built.step);
  const losses: number[] = [];
  const parameters: string[] = [];
  for (let i = 0; i < steps; i++) {
    const inputs = built.inputs(i % 2);
    const loss = step(...inputs);
    losses.push(loss.itemSync());
    for (const own of [loss, ...inputs]) own.dispose();
    parameters.push(digestOf(built.model));
  }
  built.dispose();
  return { losses, parameters };
}

const eager =
  (step: Step): Step =>
  (...inputs) =>
    tidy(() => step(...inputs));

const sum = (list: readonly number[]) => list.reduce((total, loss) => total + loss, 0);

/** The loss falls on two batches in turn; two captured steps are one graph and equal the eager ones. */
export function expectStaticTraining(
  workload: Trainable,
  { steps, batch }: { readonly steps: number; readonly batch: number },
): void {
  const ordinary = train(workload, batch, steps, eager);
  expect(sum(ordinary.losses.slice(-2))).toBeLessThan(0.97 * sum(ordinary.losses.slice(0, 2)));
  let stats: CapturedStats | undefined;
  const captured = train(workload, batch, 2, (step) => {
    const run = toStatic(step);
    return (...inputs) => {
      const loss = run(...inputs);
      stats = run.stats();
      return loss;
    };
  });
  expect(captured.losses).toEqual(ordinary.losses.slice(0, 2));
  expect(captured.parameters).toEqual(ordinary.parameters.slice(0, 2));
  expect(stats).toMatchObject({ breaks: [], fallbacks: [] });
  expect(stats!.graphs).toBeGreaterThan(0);
}
