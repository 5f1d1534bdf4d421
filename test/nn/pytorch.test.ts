import { describe, expect, it } from 'vitest';
import * as nn from '../../runtime/nn/index.ts';
import { add, mul } from '../../runtime/ops/pointwise/pointwise.ts';
import { dtypes } from '../../runtime/spec/dtype.ts';
import { tensorsIn, tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, type Tensor } from '../ops/eager.ts';
import { expectRecorded, type RecordedTensor, toTensor } from '../ops/pytorch/recorded.ts';
import { moduleOf } from './module-adapters.ts';
import { camelCase } from './printed-module.ts';
import { clipRecords, type ModuleRecord, moduleRecords, otherRecords } from './recorded-nn.ts';

const tolerances = {
  float32: { relative: 1e-4, absolute: 1e-5 },
  float64: { relative: 1e-7, absolute: 1e-9 },
} as const;

type Precision = keyof typeof tolerances;

type Named = Readonly<Record<string, RecordedTensor>>;

/** The record in the precision that is tested: PyTorch computed in float64 and counts in int64. */
function as(record: RecordedTensor, precision: Precision): RecordedTensor {
  const dtype: string = record.dtype;
  if (dtype === 'float64') return { ...record, dtype: precision };
  return dtype === 'int64' ? { ...record, dtype: 'int32' } : record;
}

function run(record: ModuleRecord, precision: Precision): void {
  const close = (own: Tensor, expected: RecordedTensor, what: string) =>
    expectRecorded(own, as(expected, precision), what, tolerances[precision]);
  const state = (values: Named) =>
    Object.entries(values).map(([name, value]) => [camelCase(name), value] as const);

  using module = moduleOf(record).to(precision).train(record.train);
  expect(Object.keys(module.stateDict()).sort()).toEqual(
    state(record.state)
      .map(([n]) => n)
      .sort(),
  );
  const given = state(record.state).map(([name, own]) => [name, toTensor(as(own, precision))]);
  module.loadStateDict(Object.fromEntries(given) as nn.StateDict);
  const inputs = record.inputs.map((own) =>
    toTensor({ ...as(own, precision), grad: dtypes[as(own, precision).dtype].floating }),
  );
  const forward = module.forward.bind(module) as (...inputs: Tensor[]) => unknown;
  let outputs: Tensor[] = [];
  for (let i = 0; i < record.forwards; i++) {
    module.zeroGrad();
    outputs = [...tensorsIn(forward(...inputs))];
  }
  expect(outputs.length).toBe(record.outputs.length);
  outputs.forEach((own, i) => void close(own, record.outputs[i]!, `output ${i}`));
  outputs
    .map((own, i) => mul(own, toTensor(as(record.gradOutputs[i]!, precision))).sum())
    .reduce((all, next) => add(all, next))
    .backward();
  const floats = inputs.filter(({ requiresGrad }) => requiresGrad);
  expect(floats.length).toBe(record.inputGrads.length);
  floats.forEach(
    (own, i) => void close(own.grad!, record.inputGrads[i]!, `gradient of input ${i}`),
  );
  const after = module.stateDict();
  for (const [name, expected] of state(record.paramGrads)) {
    close(after[name]!.grad!, expected, `gradient of ${name}`);
  }
  for (const [name, expected] of state(record.stateAfter)) {
    close(after[name]!, expected, `${name} after ${record.forwards} forwards`);
  }
  for (const own of floats) own.grad?.dispose();
}

describe("modules give PyTorch's recorded outputs, gradients and state", () => {
  for (const record of moduleRecords) {
    for (const precision of Object.keys(tolerances) as Precision[]) {
      it(`${record.name}${record.train ? '' : ', evaluating'}, ${precision}`, () => {
        const before = allocated();
        tidy(() => run(record, precision));
        expect(allocated()).toBe(before);
      });
    }
  }

  it('no record is left out', () => {
    expect(otherRecords).toBe(0);
    expect(moduleRecords.length).toBe(37);
  });
});

describe("clipGradNorm_ gives PyTorch's recorded gradients", () => {
  for (const { norm, grads, total, after } of clipRecords) {
    it(`norm ${norm}`, () => {
      tidy(() => {
        const parameters = grads.map((grad) => {
          const x = toTensor({ ...as(grad, 'float32'), grad: true });
          x.grad = toTensor(as(grad, 'float32'));
          return x;
        });
        const before = allocated();
        // The recorded gradients have norm 1 afterwards.
        const found = nn.utils.clipGradNorm_(parameters, 1, Number(norm));
        expect(allocated() - before, 'the norm alone').toBe(64);
        expect(found.itemSync()).toBeCloseTo(total, 5);
        after.forEach((expected, i) => {
          expectRecorded(parameters[i]!.grad!, as(expected, 'float32'), `gradient ${i}`);
        });
      });
    });
  }
});
