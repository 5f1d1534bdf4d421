/** Every op of the table computes in a module what its kernel computes, to the bit, or is refused by its name. */

import { describe, expect, it } from 'vitest';
import { ArgumentError } from '../../../runtime/index.ts';
import { opTable } from '../../../runtime/ops/op-table.ts';
import type { Plan, PlannedSubgraph } from '../../../runtime/program/plan.ts';
import { predictedBytes } from '../../../runtime/run-program/simulate/predicted-bytes.ts';
import { ProgramState } from '../../../runtime/save/program-state.ts';
import { writeModule } from '../../../src/export/module/export-module.ts';
import { forwardCases } from '../../ops/cases/forward-cases.ts';
import { inDtype, variants } from '../../ops/cases/forward-dtypes.ts';
import { type OpSample, programOf, sampleOf } from '../op-samples.ts';
import { instanceOf, type ModuleTensor } from './module-instance.ts';

/** Ops whose kernels are in JavaScript for every dtype. */
const refused: readonly string[] = [
  ...['cumsum', 'cumprod', 'cumprodGrad', 'cummax', 'cummin', 'logcumsumexp', 'logcumsumexpGrad'],
  ...['sort', 'topk', 'scatterReduce', 'polygamma', 'resample', 'resampleGrad'],
  ...['inverse', 'solve', 'solveTriangular', 'cholesky', 'cofactors', 'det', 'logAbsDet'],
  'nuclearNorm',
];
/** And those that have generated kernels in float32 alone. */
const refusedInFloat64: readonly string[] = [
  ...['softmax', 'softmaxGrad', 'logSoftmax', 'logSoftmaxGrad', 'standardize', 'standardizeAffine'],
  ...['conv2d', 'conv2dInputGrad', 'conv2dWeightGrad', 'convTranspose2d', 'adaptiveMaxPool2d'],
];
const isRefused = ({ name, key }: OpSample): boolean =>
  refused.includes(name) || (key.includes('float64') && refusedInFloat64.includes(name));

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
  return writeModule({ name: sample.name, state }, [{ saved: entry, planned: own }], null);
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
      expect(await difference(sample), sample.key).toBe(isRefused(sample) ? null : '');
    }
  });
});
