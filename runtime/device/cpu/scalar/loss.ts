import type { TensorMeta } from '../../tensor-meta.ts';
import {
  type GeneratedKernel,
  hostKernel,
  hostMethods,
  type Numbers,
  type RealView,
} from '../core/host-kernels.ts';

/** Ignores samples with the label −100. */
export const lossMethods = hostMethods({
  /** The label of a sample; null if the sample doesn't count. */
  labelAt(at: number, classes: number): number | null {
    const label = this.i32[at]!;
    if (label === -100) return null;
    if (label >= 0 && label < classes) return label;
    return this.reject({
      what: 'crossEntropy, nllLoss: a label is not a class',
      given: `label ${label}`,
      expected: `0 to ${classes - 1}: the scores have ${classes} classes`,
      remedy: "check the labels, or widen the model's last layer",
    });
  },

  /** `columns` is 0 if there are only the scores of the labels. */
  nllLoss(
    view: RealView,
    [scores, labels, loss]: Numbers,
    n: number,
    columns: number,
    classes: number,
  ): void {
    const data = this[view];
    const isSingle = view === 'f32';
    let sum = 0;
    let count = 0;
    for (let i = 0; i < n; i++) {
      const label = this.labelAt(labels! + i, classes);
      if (label === null) continue;
      sum -= data[scores! + (columns > 0 ? i * columns + label : i)]!;
      if (isSingle) sum = Math.fround(sum);
      count++;
    }
    data[loss!] = sum / count;
  },

  labelScores(
    view: RealView,
    [logProbs, labels, scores]: Numbers,
    n: number,
    classes: number,
  ): void {
    const data = this[view];
    for (let i = 0; i < n; i++) {
      const label = this.i32[labels! + i]!;
      data[scores! + i] =
        label >= 0 && label < classes ? data[logProbs! + i * classes + label]! : 0;
    }
  },

  /** Writes the gradient's contribution to the score of each label that counts. */
  nllLossShare(view: RealView, [dy, labels, out]: Numbers, n: number): void {
    let count = 0;
    for (let i = 0; i < n; i++) if (this.i32[labels! + i] !== -100) count++;
    this[view][out!] = -this[view][dy!]! / count;
  },

  nllLossGrad(view: RealView, [dy, labels, out]: Numbers, n: number, classes: number): void {
    const data = this[view];
    let count = 0;
    for (let i = 0; i < n; i++) if (this.i32[labels! + i] !== -100) count++;
    const share = -data[dy!]! / count;
    data.fill(0, out, out! + n * classes);
    for (let i = 0; i < n; i++) {
      const label = this.labelAt(labels! + i, classes);
      if (label !== null) data[out! + i * classes + label] = share;
    }
  },

  crossEntropyGrad(
    view: RealView,
    [share, labels, logProbs, out]: Numbers,
    n: number,
    classes: number,
  ): void {
    const data = this[view];
    const round = view === 'f32' ? Math.fround : (value: number) => value;
    const own = data[share!]!;
    for (let row = 0; row < n; row++) {
      const label = this.labelAt(labels! + row, classes);
      const sum = label === null ? 0 : own + 0;
      for (let i = 0, at = row * classes; i < classes; i++, at++) {
        const part = round(round(this.math.exp(data[logProbs! + at]!)) * sum);
        data[out! + at] = (i === label ? own : 0) - part;
      }
    }
  },

  /** Writes the two possible gradients of a row's loss: its own, and 0 for a row that doesn't count. */
  writeShares(own: number, scratch: number): void {
    this.f32[scratch] = own + 0;
    this.f32[scratch + 1] = 0;
  },

  /** Adds the label's share to a row that starts at `row`. */
  addShare(own: number, label: number | null, row: number): void {
    if (label === null) return;
    const part = this.f32[row + label]!;
    this.f32[row + label] = part === 0 ? own : own + part;
  },

  /** The generated kernel writes minus the row's share of each probability. */
  crossEntropyGradOfRows(
    share: number,
    labels: number,
    logProbs: number,
    out: number,
    n: number,
    classes: number,
    scratch: number,
    probabilityShare: GeneratedKernel,
  ): void {
    const own = this.f32[share]!;
    this.writeShares(own, scratch);
    for (let row = 0; row < n; row++) {
      const label = this.labelAt(labels + row, classes);
      const at = row * classes;
      const shareAt = label === null ? scratch + 1 : scratch;
      probabilityShare((logProbs + at) * 4, shareAt * 4, (out + at) * 4, 1, classes);
      this.addShare(own, label, out + at);
    }
  },
});

const operandsAndResult = <T>(inputs: readonly T[], [out]: readonly T[]) => [...inputs, out];
/** `logProbs` is only there for its shape. */
const gradientOfLabels = <T>([dy, labels]: readonly T[], [out]: readonly T[]) => [dy, labels, out];

const sizesOf = ({ shape }: TensorMeta): [n: number, classes: number] => [shape[0]!, shape[1]!];

/** Given [n, classes], or the scores of the labels alone, [n], and the number of classes. */
export const nllLoss = hostKernel(
  lossMethods,
  'nllLoss',
  operandsAndResult,
  ([logProbs], _outputs, { classes }) => {
    const [n, columns] = logProbs!.shape as [number, number?];
    return [n, columns ?? 0, columns ?? (classes as number)];
  },
);

export const labelScores = hostKernel(lossMethods, 'labelScores', operandsAndResult, ([logProbs]) =>
  sizesOf(logProbs!),
);

export const nllLossGrad = hostKernel(
  lossMethods,
  'nllLossGrad',
  gradientOfLabels,
  ([, , logProbs]) => sizesOf(logProbs!),
);

export const nllLossShare = hostKernel(
  lossMethods,
  'nllLossShare',
  gradientOfLabels,
  ([, labels]) => [labels!.shape[0]!],
);

export const crossEntropyGrad = hostKernel(
  lossMethods,
  'crossEntropyGrad',
  operandsAndResult,
  ([, , logProbs]) => sizesOf(logProbs!),
);
