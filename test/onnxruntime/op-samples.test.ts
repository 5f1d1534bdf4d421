/** Every op on the backend: in a graph with the numbers of our kernels, or left to them with a reason. */

import { describe, expect, it } from 'vitest';
import { opNamed } from '../../runtime/ops/op-table.ts';
import { Subgraph } from '../../runtime/run-program/run-program.ts';
import { defaultCompileOptions } from '../../src/compile/compilation.ts';
import { isMapped } from '../../src/export/onnx/mapping.ts';
import { noGrad } from '../../src/index.ts';
import { compileSubgraph } from '../../src/pipeline.ts';
import { difference, type OpSample, opSamples, programOf } from '../export/op-samples.ts';
import { engines } from './engines.ts';

const samples = opSamples(() => true);
const ops = [...new Set(samples.map(({ name }) => name))];

/** Why a kernel computes an op that has a form in ONNX. */
const allowed = [
  /^onnxruntime has no \w+ for these elements$/,
  /^onnxruntime's \w+ refuses what it is given$/,
  /^elements of (b?float16|int64)$/,
  /^tensors without elements$/,
  /has no form in ONNX$/,
];

describe.each(engines)('ops on %s', (_name, { make, isApart }) => {
  const totals = { inGraphs: 0, byKernels: 0 };

  function ran(sample: OpSample) {
    const { program } = programOf([sample]);
    const wanted = {
      needsGrad: program.inputs.map(() => false),
      differentiable: program.outputs.map(() => false),
    };
    const backend = make();
    const { planned } = compileSubgraph(program, wanted, { ...defaultCompileOptions, backend });
    const inputs = sample.inputs.map((each) => each.clone());
    const results = noGrad(() => new Subgraph(planned).run(inputs));
    const isWrite = opNamed(sample.name).inPlace;
    const found = (isWrite ? inputs.slice(0, 1) : results).map((each) =>
      Array.from(each.to('float64').dataSync() as ArrayLike<number>),
    );
    return { found, report: backend.report() };
  }

  it.each(ops)('%s', (name) => {
    for (const sample of samples.filter((each) => each.name === name)) {
      const { found, report } = ran(sample);
      expect(difference(sample, found)).toBe('');
      const { inGraphs, byKernels, reasons } = report;
      totals.inGraphs += inGraphs;
      totals.byKernels += byKernels;
      expect(Object.values(reasons).reduce((sum, count) => sum + count, 0)).toBe(byKernels);
      for (const reason of Object.keys(reasons)) {
        expect(allowed.some((each) => each.test(reason))).toBe(true);
        if (isApart && isMapped(opNamed(name))) expect(reason).not.toMatch(/has no form in ONNX/);
      }
    }
  });

  it('are mostly in graphs', () => {
    expect(totals.inGraphs).toBeGreaterThan(isApart ? 4 * totals.byKernels : totals.byKernels);
  });
});
