/** Whole training steps in XLA: the losses of ours, step by step. */

import { beforeAll, describe, expect, it } from 'vitest';
import { exportStableHLO, type StableHLOExport } from '../../src/export/index.ts';
import { xlaPython } from './python.ts';
import { float64Cases, steps, type Trained, trained, trainingCases } from './training-steps.ts';
import { runInXla, type XlaResult } from './xla.ts';

const cases = {
  ...trainingCases,
  ...Object.fromEntries(
    Object.entries(float64Cases).map(([name, each]) => [`${name} in float64`, each]),
  ),
};

const python = xlaPython();
const made = new Map<string, Trained<StableHLOExport>>();
let results: Record<string, XlaResult> = {};
beforeAll(async () => {
  for (const [name, { build }] of Object.entries(cases)) {
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
  it.each(Object.keys(cases))('keep their state from step to step: %s', (name) => {
    const { text, sidecar } = made.get(name)!.exported;
    expect(sidecar.outputs.filter(({ feeds }) => feeds !== null).length).toBeGreaterThan(3);
    expect(text).toContain('func.func public @main');
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
