/** Every op of the table has a form in ONNX that onnxruntime computes as our kernels do, or is refused by its name. */

import { beforeAll, describe, expect, it } from 'vitest';
import { ArgumentError } from '../../runtime/index.ts';
import { opTable } from '../../runtime/ops/op-table.ts';
import { exportModel } from '../../src/export/onnx/export-program.ts';
import { isMapped } from '../../src/export/onnx/mapping.ts';
import { forwardCases } from '../ops/cases/forward-cases.ts';
import { type OnnxJob, type OnnxResult, runOnnx } from './onnxruntime.ts';
import { difference, type OpSample, opSamples, programOf, sampleOf } from './op-samples.ts';
import { onnxPython } from './python.ts';

/** Ops without a form: factorizations, recurrences along a dimension and what is made of them. */
const refused = [
  ...['polygamma', 'cumprod', 'cumprodGrad', 'unfoldGrad'],
  ...['inverse', 'solve', 'solveTriangular', 'cholesky', 'cofactors', 'det', 'logAbsDet'],
  ...['symmetricEigen', 'singularVectors', 'orthogonalFactors', 'pseudoinverse', 'integerPairs'],
  ...['luFactors', 'luPivots', 'luRows', 'matrixExp', 'gammaSlope'],
  ...['cummax', 'cummin', 'logcumsumexp', 'logcumsumexpGrad', 'scatterReduce'],
  ...['adaptiveMaxPool2d', 'quantize', 'dequantize', 'packBits', 'unpackBits'],
];

/** onnxruntime's CPU kernels have no float64 for these, which ONNX itself has. */
const float32Only = new Set(['asin', 'acos', 'atan', 'atan2', 'asin_', 'acos_', 'atan_']);
const isLacking = ({ key, name }: OpSample): boolean =>
  key.includes('float64') && (float32Only.has(name) || /[cC]onv/.test(name));

const samples = opSamples(isMapped);
const ops = [...new Set(samples.map(({ name }) => name))];

const python = onnxPython();
let results: Record<string, OnnxResult> = {};
beforeAll(async () => {
  if (!python) return;
  const jobs = await Promise.all(
    samples.map(async (sample): Promise<[string, OnnxJob]> => {
      const { model, outputs, inputs } = await exportModel(programOf([sample]), null);
      const named = inputs.map(({ name }, i) => [name, sample.inputs[i]!] as const);
      return [sample.key, { model, outputs, inputs: named, steps: 1, batches: [] }];
    }),
  );
  results = await runOnnx(python, Object.fromEntries(jobs));
}, 300_000);

describe('ops in ONNX', () => {
  it('all are mapped or refused by name', () => {
    const without = [...opTable.values()].filter((op) => !isMapped(op)).map(({ name }) => name);
    expect(without.sort()).toEqual([...refused].sort());
  });

  it('an op without a form is named', async () => {
    const example = forwardCases['det']![0]!;
    const one = exportModel(programOf([sampleOf('det', example)]), null);
    await expect(one).rejects.toThrow(ArgumentError);
    await expect(one).rejects.toThrow(/det has no form/);
  });

  it.runIf(python).each(ops)('%s is computed by onnxruntime as by our kernels', (name) => {
    const own = samples.filter((sample) => sample.name === name);
    expect(own.length).toBeGreaterThan(0);
    for (const sample of own) {
      const result = results[sample.key]!;
      if (isLacking(sample) && 'error' in result) {
        expect(result.error).toContain('NOT_IMPLEMENTED');
        continue;
      }
      expect('error' in result ? `${sample.key}: ${result.error}` : '').toBe('');
      const arrays = result as Record<string, ArrayLike<number>>;
      const outputs = sample.outputs.map((_, i) => arrays[`o${i}.0`]!);
      expect(difference(sample, outputs)).toBe('');
    }
  });
});
