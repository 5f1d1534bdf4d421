/** Products and convolutions: halves are multiplied in float32 and rounded once. */

import { fixedAttr, fixedList } from '../target/attributes.ts';
import type { TargetCall } from '../target/op-mapping.ts';
import { type TargetValue, type TensorTarget, wideElement } from '../target/target.ts';

/** How an engine convolves; operands are wide. */
interface Convolution<V extends TargetValue, T extends TensorTarget<V>> {
  /** Convolves images with kernels. */
  forward(call: TargetCall<V, T>): V;
  /** The gradient of the images, and the transposed convolution, from results and kernels. */
  toInput(call: TargetCall<V, T>): V;
  /** The gradient of the kernels, from results and images. */
  toWeight(call: TargetCall<V, T>): V;
}

interface Window {
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation: readonly number[];
  readonly groups: number;
}

export const windowOf = (call: Pick<TargetCall<TargetValue>, 'op' | 'attrs'>): Window => ({
  stride: fixedList(call, 'stride'),
  padding: fixedList(call, 'padding'),
  dilation: fixedList(call, 'dilation'),
  groups: fixedAttr(call, 'groups'),
});

function product<V extends TargetValue>(call: TargetCall<V>): V {
  const { to, inputs, outputs } = call;
  const batch = outputs[0]!.shape.slice(0, -2);
  const [a, b] = inputs.map((x) =>
    to.spread(to.convert(x, wideElement(x.element)), [...batch, ...x.shape.slice(-2)]),
  );
  return to.matmul(a!, b!);
}

export function productOps<V extends TargetValue, T extends TensorTarget<V>>(
  on: Convolution<V, T>,
): Readonly<Record<string, (call: TargetCall<V, T>) => V>> {
  type Mapping = (call: TargetCall<V, T>) => V;
  /** Computes on two wide operands; other operands are read only for their shapes. */
  const widely =
    (mapping: Mapping): Mapping =>
    (call) => {
      const wide = call.inputs.slice(0, 2).map((x) => call.to.convert(x, wideElement(x.element)));
      const result = mapping({ ...call, inputs: wide });
      return call.to.convert(result, call.inputs[0]!.element);
    };
  const adding =
    (mapping: Mapping): Mapping =>
    (call) => {
      const [sum, ...inputs] = call.inputs as [V, ...V[]];
      const [, ...metas] = call.metas;
      return call.to.binary('add', sum, mapping({ ...call, inputs, metas }));
    };
  const weightGradient = widely(on.toWeight);
  return {
    matmul: widely(product),
    addMatmul_: adding(widely(product)),
    conv2d: widely(on.forward),
    conv2dInputGrad: widely(on.toInput),
    conv2dWeightGrad: weightGradient,
    convTranspose2d: widely(on.toInput),
    addConv2dWeightGrad_: adding(weightGradient),
  };
}
