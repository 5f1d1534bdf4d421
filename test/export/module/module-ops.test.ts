/** Every op of the table computes in a module what its kernel computes, to the bit, or is refused by its name. */

import { describe, expect, it } from 'vitest';
import { ArgumentError, noGrad } from '../../../runtime/index.ts';
import { bind } from '../../../runtime/ops/core/bind.ts';
import { opTable } from '../../../runtime/ops/op-table.ts';
import type { Plan, PlannedSubgraph } from '../../../runtime/program/plan.ts';
import { predictedBytes } from '../../../runtime/run-program/simulate/predicted-bytes.ts';
import { ProgramState } from '../../../runtime/save/program-state.ts';
import { writeModule } from '../../../src/export/module/export-module.ts';
import { forwardCases } from '../../ops/cases/forward-cases.ts';
import { inDtype, tensorOf, valuesOf, variants } from '../../ops/cases/forward-dtypes.ts';
import { type OpCall, opCalls } from '../../save/op-samples.ts';
import { type OpSample, programOf, sampleOf } from '../op-samples.ts';
import { instanceOf, type ModuleTensor } from './module-instance.ts';

/** Ops whose kernels are in JavaScript, and not among those that a module may contain. */
const refused: readonly string[] = [
  ...['inverse', 'solve', 'solveTriangular', 'cholesky', 'cofactors', 'det', 'logAbsDet'],
  ...['symmetricEigen', 'singularVectors', 'orthogonalFactors', 'pseudoinverse', 'integerPairs'],
  ...['luFactors', 'luPivots', 'luRows', 'matrixExp', 'gammaSlope'],
  ...['polygamma', 'quantize', 'dequantize', 'packBits', 'unpackBits'],
];

/** Calls of an op in every dtype, the first of its cases; with INTEROP all cases. */
function samplesOf(name: string): OpSample[] {
  const all = process.env.INTEROP !== undefined;
  return variants.flatMap((variant) =>
    (forwardCases[name] ?? []).flatMap((example, i) => {
      const own = all || i === 0 ? inDtype(name, example, variant) : null;
      if (!own) return [];
      return { key: `${name} ${variant.to} ${i}`, tolerance: 0, ...sampleOf(name, own) };
    }),
  );
}

const ops = [...opTable.values()].flatMap(({ name, kernel }) =>
  kernel.kind === 'control' || !forwardCases[name] ? [] : [name],
);

const nothing = { peakBytes: 0, lowerBoundBytes: 0, savedBytes: 0, copiedBytes: 0, outputBytes: 0 };

/** The program of one op as a module. */
function moduleOf(sample: OpSample) {
  const { program, entry } = programOf([sample]);
  const { inputs, outputs, values } = program;
  const steps = program.ops.map((op) => {
    return { op, reuses: op.outputs.map(() => null), frees: [] };
  });
  const unusedInputs = inputs.filter(
    (id) => !outputs.includes(id) && !steps[0]!.op.inputs.includes(id),
  );
  const plan: Plan = {
    ...{ inputs, outputs, steps, unusedInputs, freesAtEnd: [], arenaBytes: 0, reordered: false },
    predicted: nothing,
  };
  const planned: PlannedSubgraph = { values, forward: plan, backward: null };
  const predicted = predictedBytes(planned)!;
  const state = new ProgramState([]);
  const own = { ...planned, forward: { ...plan, predicted } };
  return writeModule({ name: sample.name, state }, [{ saved: entry, planned: own }], {
    data: null,
    relaxedSimd: true,
  });
}

/** Ops whose records say so. */
const float32Only = [
  ...['addSum_', 'addMatmul_', 'addConv2dWeightGrad_', 'addStandardizeWeightGrad_'],
  ...['quantize', 'dequantize'],
];

/** A call with small numbers, which are labels and places, too. */
function callSample({ op, inputs, attrs }: OpCall, float: 'float32' | 'float64'): OpSample {
  const given = inputs.map(({ dtype, shape }, k) => {
    const own = dtype === 'float32' ? float : dtype;
    const range = dtype === 'float32' ? ([-2, 2] as const) : ([0, 2] as const);
    const input = { shape, dtype: own, range };
    return tensorOf(input, valuesOf(input, k));
  });
  const before = given.map((each) => each.clone());
  const outputs = noGrad(() => bind(op, given, attrs));
  const key = `${op.name} ${float}`;
  return { key, name: op.name, inputs: before, outputs, attrs, tolerance: 0 };
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): string =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength).toString('hex');

/** What differs to the bit between a module's results and ours; null where the op is refused by its name. */
async function difference(sample: OpSample): Promise<string | null> {
  let text: string;
  try {
    ({ text } = moduleOf(sample));
  } catch (error) {
    expect(error).toBeInstanceOf(ArgumentError);
    expect((error as Error).message).toContain(`export: ${sample.name} has no form in a module`);
    return null;
  }
  const model = await instanceOf(text);
  const results = model.run(...sample.inputs.map((each) => each.dataSync())) as ModuleTensor[];
  const differing = sample.outputs.flatMap((output, i) => {
    const { data, dtype, shape } = results[i]!;
    expect([dtype, shape]).toEqual([output.dtype, output.shape]);
    return bytesOf(data) === bytesOf(output.dataSync()) ? [] : [`${sample.key} output ${i}`];
  });
  return differing.join();
}

describe('ops in a module', () => {
  it.each(ops)('%s has its bits in every dtype, or is refused by its name', async (name) => {
    const samples = samplesOf(name);
    expect(samples.length).toBeGreaterThan(0);
    for (const sample of samples) {
      expect(await difference(sample), sample.key).toBe(refused.includes(name) ? null : '');
    }
  });
  /** Gradients, draws and ops that others are made of: as other ops call them. */
  const more = opCalls(() => {}).filter(({ op: { name, kernel } }) => {
    return kernel.kind === 'named' && !forwardCases[name];
  });
  it.each(more.map((call) => [call.op.name, call] as const))('%s, too', async (name, call) => {
    for (const to of ['float32', 'float64'] as const) {
      const isFloat = call.inputs.some(({ dtype }) => dtype === 'float32');
      if (to === 'float64' && (!isFloat || float32Only.includes(name))) continue;
      const found = await difference(callSample(call, to));
      expect(found, `${name} ${to}`).toBe(refused.includes(name) ? null : '');
    }
  });
});
