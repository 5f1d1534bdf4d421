/** Steps of optimizers that PyTorch recorded. */

import { expect } from 'vitest';
import type { Optimizer } from '../../runtime/optim/optimizer.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import type { OptimizerRecord } from '../nn/recorded-nn.ts';
import { allocated, type Tensor } from '../ops/eager.ts';
import { expectRecorded, inDtype, toTensor } from '../ops/pytorch/recorded.ts';

/** Takes the recorded steps; `onStep` comes after each. */
export function replay<O extends Optimizer>(
  record: OptimizerRecord,
  make: (parameters: Tensor[]) => O,
  onStep: (optimizer: O, step: number) => void = () => {},
): void {
  const before = allocated();
  const parameters = record.init.map((init) => toTensor({ ...inDtype(init), grad: true }));
  const optimizer = make(parameters);
  record.grads.forEach((grads, step) => {
    expect(optimizer.lr, `rate of step ${step}`).toBeCloseTo(record.lr[step]!, 12);
    grads.forEach((grad, i) => {
      parameters[i]!.grad = toTensor(inDtype(grad));
    });
    const withGradients = allocated();
    tidy(() => optimizer.step());
    expect(allocated(), 'a step leaves nothing behind').toBe(withGradients);
    record.after[step]!.forEach((expected, i) => {
      expectRecorded(parameters[i]!, inDtype(expected), `step ${step}, parameter ${i}`, {
        relative: 2e-5,
        absolute: 2e-6,
      });
    });
    optimizer.zeroGrad();
    onStep(optimizer, step);
  });
  optimizer.dispose();
  for (const parameter of parameters) parameter.dispose();
  expect(allocated()).toBe(before);
}
