import {
  type GeneratedKernel,
  hostCalls,
  hostMethods,
  placesOf,
  type RealView,
  realViewOf,
} from '../core/host-kernels.ts';
import { expectContiguous, type KernelFactory } from '../core/kernel.ts';

/** Samples with the label −100 don't count. */
export const lossMethods = hostMethods({
  /** The label of a sample; null if the sample doesn't count. */
  labelAt(at: number, classes: number): number | null {
    const label = this.i32[at]!;
    if (label === -100) return null;
    if (label >= 0 && label < classes) return label;
    return this.reject(
      'crossEntropy, nllLoss: a label is not a class',
      `label ${label}`,
      `0 to ${classes - 1}: the scores have ${classes} classes`,
      "check the labels, or widen the model's last layer",
    );
  },

  /** `columns` is 0 if there are only the scores of the labels. */
  nllLoss(
    view: RealView,
    scores: number,
    labels: number,
    loss: number,
    n: number,
    columns: number,
    classes: number,
  ): void {
    const data = this[view];
    const isSingle = view === 'f32';
    let sum = 0;
    let count = 0;
    for (let i = 0; i < n; i++) {
      const label = this.labelAt(labels + i, classes);
      if (label === null) continue;
      sum -= data[scores + (columns > 0 ? i * columns + label : i)]!;
      if (isSingle) sum = Math.fround(sum);
      count++;
    }
    data[loss] = sum / count;
  },

  labelScores(
    view: RealView,
    logProbs: number,
    labels: number,
    scores: number,
    n: number,
    classes: number,
  ): void {
    const data = this[view];
    for (let i = 0; i < n; i++) {
      const label = this.i32[labels + i]!;
      data[scores + i] = label >= 0 && label < classes ? data[logProbs + i * classes + label]! : 0;
    }
  },

  /** Writes the gradient's contribution to the score of each label that counts. */
  nllLossShare(view: RealView, dy: number, labels: number, out: number, n: number): void {
    let count = 0;
    for (let i = 0; i < n; i++) if (this.i32[labels + i] !== -100) count++;
    this[view][out] = -this[view][dy]! / count;
  },

  nllLossGrad(
    view: RealView,
    dy: number,
    labels: number,
    out: number,
    n: number,
    classes: number,
  ): void {
    const data = this[view];
    let count = 0;
    for (let i = 0; i < n; i++) if (this.i32[labels + i] !== -100) count++;
    const share = -data[dy]! / count;
    data.fill(0, out, out + n * classes);
    for (let i = 0; i < n; i++) {
      const label = this.labelAt(labels + i, classes);
      if (label !== null) data[out + i * classes + label] = share;
    }
  },

  crossEntropyGrad(
    view: RealView,
    share: number,
    labels: number,
    logProbs: number,
    out: number,
    n: number,
    classes: number,
  ): void {
    const data = this[view];
    const round = this.rounding(view);
    const own = data[share]!;
    for (let row = 0; row < n; row++) {
      const label = this.labelAt(labels + row, classes);
      const sum = label === null ? 0 : own + 0;
      for (let i = 0, at = row * classes; i < classes; i++, at++) {
        const part = round(round(this.math.exp(data[logProbs + at]!)) * sum);
        data[out + at] = (i === label ? own : 0) - part;
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

/** Given [n, classes], or the scores of the labels alone, [n], and the number of classes. */
export const nllLoss: KernelFactory = ([logProbs, target], [out], attrs) => {
  expectContiguous(logProbs!, target!, out!);
  const [n, columns] = logProbs!.shape as [number, number?];
  const sizes = [n, columns ?? 0, columns ?? (attrs.classes as number)] as const;
  const metas = [logProbs!, target!, out!];
  return ([scores, labels], [loss]) => {
    const at = placesOf([scores!, labels!, loss!], metas);
    hostCalls.call(lossMethods, 'nllLoss', realViewOf(out!.dtype), ...at, ...sizes);
  };
};

export const labelScores: KernelFactory = ([logProbs, target], [scores]) => {
  expectContiguous(logProbs!, target!);
  const [n, classes] = logProbs!.shape as [number, number];
  const metas = [logProbs!, target!, scores!];
  return ([given, labels], [out]) => {
    const at = placesOf([given!, labels!, out!], metas);
    hostCalls.call(lossMethods, 'labelScores', realViewOf(scores!.dtype), ...at, n, classes);
  };
};

export const nllLossGrad: KernelFactory = ([dy, target, logProbs], [dx]) => {
  expectContiguous(target!, dx!);
  const [n, classes] = logProbs!.shape as [number, number];
  const metas = [dy!, target!, dx!];
  return ([grad, labels], [out]) => {
    const at = placesOf([grad!, labels!, out!], metas);
    hostCalls.call(lossMethods, 'nllLossGrad', realViewOf(dx!.dtype), ...at, n, classes);
  };
};

export const nllLossShare: KernelFactory = ([dy, target], [share]) => {
  expectContiguous(target!);
  const [n] = target!.shape as [number];
  const metas = [dy!, target!, share!];
  return ([grad, labels], [out]) => {
    const at = placesOf([grad!, labels!, out!], metas);
    hostCalls.call(lossMethods, 'nllLossShare', realViewOf(share!.dtype), ...at, n);
  };
};

export const crossEntropyGrad: KernelFactory = ([dy, target, logProbs], [dx]) => {
  expectContiguous(target!, logProbs!, dx!);
  const [n, classes] = logProbs!.shape as [number, number];
  const metas = [dy!, target!, logProbs!, dx!];
  return ([share, labels, out], [to]) => {
    const at = placesOf([share!, labels!, out!, to!], metas);
    hostCalls.call(lossMethods, 'crossEntropyGrad', realViewOf(dx!.dtype), ...at, n, classes);
  };
};
