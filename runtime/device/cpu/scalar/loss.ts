import { ArgumentError } from '../../../errors/errors.ts';
import { heap } from '../heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../kernel.ts';
import { roundingOf } from './reduce.ts';

/** The label of samples that don't count. */
const ignored = -100;

function checkLabel(label: number, classes: number): void {
  if (label >= 0 && label < classes) return;
  throw new ArgumentError({
    what: 'nllLoss: a label is not a class',
    given: `label ${label}`,
    expected: `0 to ${classes - 1}: the scores have ${classes} classes`,
    remedy: "check the labels, or widen the model's last layer",
  });
}

export const nllLoss: KernelFactory = ([logProbs, target], [out]) => {
  expectContiguous(logProbs!, target!, out!);
  const [n, classes] = logProbs!.shape as [number, number];
  const { dtype } = logProbs!;
  const round = roundingOf(dtype);
  return ([scores, labels], [loss]) => {
    const data = heap.view(dtype);
    const from = indexOf(scores!, dtype);
    const labelsAt = indexOf(labels!, 'int32');
    let sum = 0;
    let count = 0;
    for (let i = 0; i < n; i++) {
      const label = heap.i32[labelsAt + i]!;
      if (label === ignored) continue;
      checkLabel(label, classes);
      sum = round(sum - data[from + i * classes + label]!);
      count++;
    }
    data[indexOf(loss!, dtype)] = sum / count;
  };
};

export const nllLossGrad: KernelFactory = ([, target, logProbs], [dx]) => {
  expectContiguous(target!, dx!);
  const [n, classes] = logProbs!.shape as [number, number];
  const { dtype } = dx!;
  const round = roundingOf(dtype);
  return ([dy, labels], [out]) => {
    const data = heap.view(dtype);
    const labelsAt = indexOf(labels!, 'int32');
    const to = indexOf(out!, dtype);
    let count = 0;
    for (let i = 0; i < n; i++) if (heap.i32[labelsAt + i] !== ignored) count++;
    const share = round(-data[indexOf(dy!, dtype)]! / count);
    data.fill(0, to, to + n * classes);
    for (let i = 0; i < n; i++) {
      const label = heap.i32[labelsAt + i]!;
      if (label === ignored) continue;
      checkLabel(label, classes);
      data[to + i * classes + label] = share;
    }
  };
};
