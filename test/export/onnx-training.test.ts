/** Whole training steps in onnxruntime: the losses of ours, step by step. */

import { beforeAll, describe, expect, it } from 'vitest';
import { exportOnnx, type OnnxExport } from '../../src/export/index.ts';
import { type OnnxResult, runOnnx } from './onnxruntime.ts';
import { onnxPython } from './python.ts';
import { steps, type Trained, trained, trainingCases } from './training-steps.ts';

const python = onnxPython();
const made = new Map<string, Trained<OnnxExport>>();
let results: Record<string, OnnxResult> = {};
beforeAll(async () => {
  for (const [name, { build }] of Object.entries(trainingCases)) {
    made.set(name, await trained(build, exportOnnx));
  }
  if (!python) return;
  const jobs = [...made].map(([name, { exported, inputs, batches }]) => {
    const { model, sidecar } = exported;
    const named = sidecar.inputs.map((input, i) => [input.name, inputs[i]!] as const);
    return [name, { model, outputs: sidecar.outputs, inputs: named, steps, batches }] as const;
  });
  results = await runOnnx(python, Object.fromEntries(jobs));
}, 300_000);

describe('training steps in ONNX', () => {
  it.each(Object.keys(trainingCases))('keep their state from step to step: %s', (name) => {
    const { model, sidecar } = made.get(name)!.exported;
    expect(sidecar.outputs.filter(({ feeds }) => feeds !== null).length).toBeGreaterThan(3);
    expect(model.length).toBeGreaterThan(1000);
  });

  it.runIf(python).each(Object.keys(trainingCases))(
    'have our losses in onnxruntime: %s',
    (name) => {
      const { losses, lossAt } = made.get(name)!;
      const found = results[name]!;
      expect('error' in found ? found.error : '').toBe('');
      const theirs = losses.map(
        (_, i) => (found as Record<string, ArrayLike<number>>)[`o${lossAt}.${i}`]![0]!,
      );
      const difference = Math.max(...theirs.map((loss, i) => Math.abs(loss - losses[i]!)));
      expect(difference).toBeLessThan(trainingCases[name]!.tolerance);
      expect(new Set(losses).size).toBe(steps);
    },
  );
});
