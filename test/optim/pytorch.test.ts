import { describe, expect, it } from 'vitest';
import { Adam, type AdamOptions, AdamW } from '../../runtime/optim/adam.ts';
import type { Optimizer } from '../../runtime/optim/optimizer.ts';
import { SGD } from '../../runtime/optim/sgd.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, type Tensor } from '../ops/eager.ts';
import { expectRecorded, type RecordedTensor, readRecords, toTensor } from '../ops/recorded.ts';

interface OptimizerRecord {
  readonly name: 'SGD' | 'Adam' | 'AdamW';
  readonly options: {
    readonly lr: number;
    readonly momentum?: number;
    readonly nesterov?: boolean;
    readonly weight_decay?: number;
    readonly betas?: readonly [number, number];
  };
  readonly init: readonly RecordedTensor[];
  /** Per step. */
  readonly grads: readonly (readonly RecordedTensor[])[];
  readonly after: readonly (readonly RecordedTensor[])[];
  /** In effect at each step: schedules change it. */
  readonly lr: readonly number[];
}

function optimizerOf(record: OptimizerRecord, parameters: Tensor[]): Optimizer {
  const { weight_decay: weightDecay, ...rest } = record.options;
  const options: AdamOptions & { lr: number } =
    weightDecay === undefined ? rest : { ...rest, weightDecay };
  switch (record.name) {
    case 'SGD':
      return new SGD(parameters, options);
    case 'Adam':
      return new Adam(parameters, options);
    case 'AdamW':
      return new AdamW(parameters, options);
  }
}

describe("optimizers follow PyTorch's recorded steps", () => {
  const records = readRecords<OptimizerRecord>(
    new URL('data/pytorch-optimizers.jsonl', import.meta.url),
  );
  for (const record of records) {
    it(`${record.name} ${JSON.stringify(record.options)}, ${record.lr.length} steps`, () => {
      const before = allocated();
      const parameters = record.init.map((init) => toTensor({ ...init, grad: true }));
      const optimizer = optimizerOf(record, parameters);
      record.grads.forEach((grads, step) => {
        optimizer.lr = record.lr[step]!;
        grads.forEach((grad, i) => {
          parameters[i]!.grad = toTensor(grad);
        });
        const withGradients = allocated();
        tidy(() => optimizer.step());
        expect(allocated(), 'a step leaves nothing behind').toBe(withGradients);
        record.after[step]!.forEach((expected, i) => {
          expectRecorded(parameters[i]!, expected, `step ${step}, parameter ${i}`);
        });
        optimizer.zeroGrad();
      });
      optimizer.dispose();
      for (const parameter of parameters) parameter.dispose();
      expect(allocated()).toBe(before);
    });
  }
});
