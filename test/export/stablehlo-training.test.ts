/** Whole training steps in XLA: the losses of ours, step by step. */

import { beforeAll, describe, expect, it } from 'vitest';
import { exportStableHLO, type StableHLOExport } from '../../src/export/index.ts';
import { steps, type Trained, trained, trainingCases } from './training-steps.ts';
import { runInXla, type XlaResult, xlaPython } from './xla.ts';

const python = xlaPython();
const made = new Map<string, Trained<StableHLOExport>>();
let results: Record<string, XlaResult> = {};
beforeAll(async () => {
  for (const [name, { build }] of Object.entries(trainingCases)) {
    made.set(name, await trained(build, exportStableHLO));
  }
  if (!python) return;
  const jobs = [...made].map(([name, { exported, inputs, batches }]) => {
    const { text, sidecar } = exported;
    return [name, { text, outputs: sidecar.outputs, inputs, steps, batches }] as const;
  });
  results = await runInXla(python, Object.fromEntries(jobs));
}, 300_000);

describe('training steps in StableHLO', () => {
  it.each(Object.keys(trainingCases))('keep their state from step to step: %s', (name) => {
    const { text, sidecar } = made.get(name)!.exported;
    expect(sidecar.outputs.filter(({ feeds }) => feeds !== null).length).toBeGreaterThan(3);
    expect(text).toContain('func.func public @main');
  });

  it.runIf(python).each(Object.keys(trainingCases))('have our losses in XLA: %s', (name) => {
    const { losses, lossAt } = made.get(name)!;
    const found = results[name]!;
    expect('error' in found ? found.error : '').toBe('');
    const theirs = losses.map(
      (_, i) => (found as Record<string, ArrayLike<number>>)[`o${lossAt}.${i}`]![0]!,
    );
    const difference = Math.max(...theirs.map((loss, i) => Math.abs(loss - losses[i]!)));
    expect(difference).toBeLessThan(trainingCases[name]!.tolerance);
    expect(new Set(losses).size).toBe(steps);
  });
});
