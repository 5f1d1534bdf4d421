import { ArgumentError } from '../../../errors/errors.ts';
import { heap } from '../heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../kernel.ts';

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
  return ([scores, labels], [loss]) => {
    const from = indexOf(scores!, 'float32');
    const labelsAt = indexOf(labels!, 'int32');
    let sum = 0;
    for (let i = 0; i < n; i++) {
      const label = heap.i32[labelsAt + i]!;
      checkLabel(label, classes);
      sum = Math.fround(sum - heap.f32[from + i * classes + label]!);
    }
    heap.f32[indexOf(loss!, 'float32')] = sum / n;
  };
};

export const nllLossGrad: KernelFactory = ([, target, logProbs], [dx]) => {
  expectContiguous(target!, dx!);
  const [n, classes] = logProbs!.shape as [number, number];
  return ([dy, labels], [out]) => {
    const labelsAt = indexOf(labels!, 'int32');
    const to = indexOf(out!, 'float32');
    const share = Math.fround(-heap.f32[indexOf(dy!, 'float32')]! / n);
    heap.f32.fill(0, to, to + n * classes);
    for (let i = 0; i < n; i++) {
      const label = heap.i32[labelsAt + i]!;
      checkLabel(label, classes);
      heap.f32[to + i * classes + label] = share;
    }
  };
};
