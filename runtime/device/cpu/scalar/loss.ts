import { ArgumentError } from '../../../errors/errors.ts';
import { math } from '../../../numerics/math.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';
import { roundingOf } from './reduce.ts';

/** The label of samples that are not counted. */
const ignored = -100;

function checkLabel(label: number, classes: number): void {
  if (label >= 0 && label < classes) return;
  throw new ArgumentError({
    what: 'crossEntropy, nllLoss: a label is not a class',
    given: `label ${label}`,
    expected: `0 to ${classes - 1}: the scores have ${classes} classes`,
    remedy: "check the labels, or widen the model's last layer",
  });
}

/** Calls `row` for each row with its label; null if it is not counted. */
export function eachLabel(
  labelsAt: number,
  n: number,
  classes: number,
  row: (index: number, label: number | null) => void,
): void {
  for (let i = 0; i < n; i++) {
    const label = heap.i32[labelsAt + i]!;
    if (label !== ignored) checkLabel(label, classes);
    row(i, label === ignored ? null : label);
  }
}

/** Given [n, classes], or the scores of the labels alone, [n], and the number of classes. */
export const nllLoss: KernelFactory = ([logProbs, target], [out], attrs) => {
  expectContiguous(logProbs!, target!, out!);
  const [n, columns] = logProbs!.shape as [number, number | undefined];
  const classes = columns ?? (attrs.classes as number);
  const { dtype } = logProbs!;
  const round = roundingOf(dtype);
  return ([scores, labels], [loss]) => {
    const data = heap.view(dtype);
    const from = indexOf(scores!, dtype);
    let sum = 0;
    let count = 0;
    eachLabel(indexOf(labels!, 'int32'), n, classes, (i, label) => {
      if (label === null) return;
      sum = round(sum - data[from + (columns ? i * columns + label : i)]!);
      count++;
    });
    data[indexOf(loss!, dtype)] = sum / count;
  };
};

export const labelScores: KernelFactory = ([logProbs, target], [scores]) => {
  expectContiguous(logProbs!, target!);
  const [n, classes] = logProbs!.shape as [number, number];
  const { dtype } = scores!;
  return ([given, labels], [out]) => {
    const data = heap.view(dtype);
    const [from, to] = [indexOf(given!, dtype), indexOf(out!, dtype)];
    const labelsAt = indexOf(labels!, 'int32');
    for (let i = 0; i < n; i++) {
      const label = heap.i32[labelsAt + i]!;
      data[to + i] = label >= 0 && label < classes ? data[from + i * classes + label]! : 0;
    }
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
    const share = round(-data[indexOf(dy!, dtype)]! / counted(labelsAt, n));
    data.fill(0, to, to + n * classes);
    eachLabel(labelsAt, n, classes, (i, label) => {
      if (label !== null) data[to + i * classes + label] = share;
    });
  };
};

function counted(labelsAt: number, n: number): number {
  let count = 0;
  for (let i = 0; i < n; i++) if (heap.i32[labelsAt + i] !== ignored) count++;
  return count;
}

export const nllLossShare: KernelFactory = ([, target], [share]) => {
  expectContiguous(target!);
  const [n] = target!.shape as [number];
  const { dtype } = share!;
  return ([dy, labels], [out]) => {
    const data = heap.view(dtype);
    const count = counted(indexOf(labels!, 'int32'), n);
    data[indexOf(out!, dtype)] = -data[indexOf(dy!, dtype)]! / count;
  };
};

export const crossEntropyGrad: KernelFactory = ([, target, logProbs], [dx]) => {
  expectContiguous(target!, logProbs!, dx!);
  const [n, classes] = logProbs!.shape as [number, number];
  const { dtype } = dx!;
  const round = roundingOf(dtype);
  return ([share, labels, out], [to]) => {
    const data = heap.view(dtype);
    const own = data[indexOf(share!, dtype)]!;
    const [from, into] = [indexOf(out!, dtype), indexOf(to!, dtype)];
    eachLabel(indexOf(labels!, 'int32'), n, classes, (row, label) => {
      const sum = label === null ? 0 : own + 0;
      for (let i = 0, at = row * classes; i < classes; i++, at++) {
        const part = round(round(math.exp(data[from + at]!)) * sum);
        data[into + at] = (i === label ? own : 0) - part;
      }
    });
  };
};
