/** Branches and loops that depend on data become `stablehlo.if` and `stablehlo.while`. */

import { beforeAll, describe, expect, it } from 'vitest';
import { exportStableHLO } from '../../src/export/index.ts';
import { noGrad, tensor, toStatic } from '../../src/index.ts';
import { ambiguousWrites, controlFunctions, controlInputs } from './control-functions.ts';
import { xlaPython } from './python.ts';
import { runInXla, type XlaJob, type XlaResult } from './xla.ts';

const python = xlaPython();
const expected = new Map<string, readonly number[]>();
const texts = new Map<string, string>();
let results: Record<string, XlaResult> = {};
beforeAll(async () => {
  const jobs: Record<string, XlaJob> = {};
  for (const [name, fn] of Object.entries(controlFunctions)) {
    const compiled = toStatic(fn, { fullGraph: true });
    for (const [i, values] of controlInputs.entries()) {
      const output = noGrad(() => compiled(tensor(values)));
      expected.set(`${name} ${i}`, [...output.dataSync()]);
      const { text, sidecar } = await exportStableHLO(compiled);
      texts.set(name, text);
      const given = { text, outputs: sidecar.outputs, inputs: [tensor(values)] };
      jobs[`${name} ${i}`] = { ...given, steps: 1, batches: [] };
    }
  }
  if (python) results = await runInXla(python, jobs);
}, 300_000);

describe('control flow in StableHLO', () => {
  it('is if and while', () => {
    expect(texts.get('branch')).toContain('stablehlo.if');
    expect(texts.get('branch in a loop')).toMatch(/stablehlo\.while[\s\S]*stablehlo\.if/);
  });

  it.runIf(python).each(Object.keys(controlFunctions))('takes our path in XLA: %s', (name) => {
    for (const i of controlInputs.keys()) {
      const found = results[`${name} ${i}`]!;
      expect('error' in found ? found.error : '').toBe('');
      expect(Array.from((found as Record<string, ArrayLike<number>>)['o0.0']!)).toEqual(
        expected.get(`${name} ${i}`),
      );
    }
  });

  it.each(Object.entries(ambiguousWrites))('rejects by name: %s', async (_name, fn) => {
    const compiled = toStatic(fn, { fullGraph: true });
    noGrad(() => compiled(tensor(controlInputs[0]!)));
    const message = /share the memory|starts from|carries on a view/;
    await expect(exportStableHLO(compiled)).rejects.toThrow(message);
  });
});
