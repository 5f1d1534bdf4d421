/** Every op of the table has a form in StableHLO that XLA computes as our kernels do, or is refused by its name. */

import { beforeAll, describe, expect, it } from 'vitest';
import { ArgumentError } from '../../runtime/index.ts';
import { opTable } from '../../runtime/ops/op-table.ts';
import { exportProgram } from '../../src/export/stablehlo/export-program.ts';
import { isMapped } from '../../src/export/stablehlo/mapping.ts';
import { forwardCases } from '../ops/cases/forward-cases.ts';
import { difference, type OpSample, opSamples, programOf, sampleOf } from './op-samples.ts';
import { xlaPython } from './python.ts';
import { runInXla } from './xla.ts';

/** Ops without a form: factorizations, sorting, recurrences along a dimension and what is made of them. */
const refused = [
  ...['polygamma', 'cumprod', 'cumprodGrad', 'sort', 'topk', 'unfoldGrad'],
  ...['inverse', 'solve', 'solveTriangular', 'cholesky', 'cofactors', 'det', 'logAbsDet'],
  ...['symmetricEigen', 'singularVectors', 'orthogonalFactors', 'pseudoinverse', 'integerPairs'],
  ...['luFactors', 'luPivots', 'luRows', 'matrixExp', 'gammaSlope'],
  ...['cummax', 'cummin', 'logcumsumexp', 'logcumsumexpGrad', 'scatterReduce'],
  ...['adaptiveMaxPool2d', 'quantize', 'dequantize', 'packBits', 'unpackBits'],
];

const samples = opSamples(isMapped);
const ops = [...new Set(samples.map(({ name }) => name))];

/** So many in one program that XLA compiles few of them. */
const perProgram = 60;
const programs = Array.from({ length: Math.ceil(samples.length / perProgram) }, (_, i) =>
  samples.slice(i * perProgram, (i + 1) * perProgram),
);

const python = xlaPython();
const found = new Map<OpSample, readonly ArrayLike<number>[]>();
beforeAll(async () => {
  if (!python) return;
  const jobs = programs.map((own, i) => {
    const { text, outputs } = exportProgram(programOf(own), null);
    const inputs = own.flatMap((sample) => sample.inputs);
    return [`ops-${i}`, { text, outputs, inputs, steps: 1, batches: [] }] as const;
  });
  const results = await runInXla(python, Object.fromEntries(jobs));
  for (const [i, own] of programs.entries()) {
    const result = results[`ops-${i}`]!;
    expect('error' in result ? result.error : '').toBe('');
    let next = 0;
    for (const sample of own) {
      const arrays = result as Record<string, ArrayLike<number>>;
      found.set(
        sample,
        sample.outputs.map(() => arrays[`o${next++}.0`]!),
      );
    }
  }
}, 300_000);

describe('ops in StableHLO', () => {
  it('all are mapped or refused by name', () => {
    const without = [...opTable.values()].filter((op) => !isMapped(op)).map(({ name }) => name);
    expect(without.sort()).toEqual([...refused].sort());
  });

  it('an op without a form is named', () => {
    const example = forwardCases['det']![0]!;
    const one = () => exportProgram(programOf([sampleOf('det', example)]), null);
    expect(one).toThrow(ArgumentError);
    expect(one).toThrow(/det has no form/);
  });

  it.runIf(python).each(ops)('%s is computed by XLA as by our kernels', (name) => {
    const own = samples.filter((sample) => sample.name === name);
    expect(own.length).toBeGreaterThan(0);
    for (const sample of own) expect(difference(sample, found.get(sample)!)).toBe('');
  });
});
