import { sizeOf } from '../../../spec/shape.ts';
import { hostKernel, hostMethods, type Numbers, type RealView } from '../core/host-kernels.ts';

export const softmaxMethods = hostMethods({
  /** Operands of one shape, row by row along the last dimension; the last operand is the result. */
  softmaxRows(
    view: RealView,
    [from, to]: Numbers,
    isLog: boolean,
    rows: number,
    length: number,
  ): void {
    const data = this[view];
    const { exp, log } = this.math;
    const round = view === 'f32' ? Math.fround : (value: number) => value;
    for (let row = 0; row < rows; row++) {
      const [a, b] = [from! + row * length, to! + row * length];
      let max = Number.NEGATIVE_INFINITY;
      for (let i = 0; i < length; i++) max = Math.max(max, data[a + i]!);
      let sum = 0;
      for (let i = 0; i < length; i++) {
        const e = round(exp(round(data[a + i]! - max)));
        if (!isLog) data[b + i] = e;
        sum = round(sum + e);
      }
      if (!isLog) {
        for (let i = 0; i < length; i++) data[b + i] = data[b + i]! / sum;
        continue;
      }
      const logSum = round(log(sum));
      for (let i = 0; i < length; i++) data[b + i] = round(data[a + i]! - max) - logSum;
    }
  },

  softmaxGradRows(
    view: RealView,
    [dy, out, to]: Numbers,
    isLog: boolean,
    rows: number,
    length: number,
  ): void {
    const data = this[view];
    const { exp } = this.math;
    const round = view === 'f32' ? Math.fround : (value: number) => value;
    for (let row = 0; row < rows; row++) {
      const [a, b, c] = [dy! + row * length, out! + row * length, to! + row * length];
      let sum = 0;
      for (let i = 0; i < length; i++) {
        sum = round(sum + (isLog ? data[a + i]! : round(data[a + i]! * data[b + i]!)));
      }
      for (let i = 0; i < length; i++) {
        if (isLog) data[c + i] = data[a + i]! - round(round(exp(data[b + i]!)) * sum);
        else data[c + i] = round(data[a + i]! - sum) * data[b + i]!;
      }
    }
  },
});

const byRow = (name: keyof typeof softmaxMethods, isLog: boolean) =>
  hostKernel(
    softmaxMethods,
    name,
    (inputs, [out]) => [...inputs, out],
    (_inputs, [out]) => {
      const length = out!.shape.at(-1) ?? 1;
      return [isLog, length === 0 ? 0 : sizeOf(out!.shape) / length, length];
    },
  );

export const softmax = byRow('softmaxRows', false);
export const logSoftmax = byRow('softmaxRows', true);
export const softmaxGrad = byRow('softmaxGradRows', false);
export const logSoftmaxGrad = byRow('softmaxGradRows', true);
