import { batchNorm, groupNorm, instanceNorm, layerNorm } from '../../ops/normalization/norms.ts';
import { logSoftmax, softmax } from '../../ops/normalization/softmax.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { fromStart } from '../node/axes.ts';
import type { Operator } from '../node/node.ts';
import { missing } from '../node/not-imported.ts';
import { tensorOf, type Value } from '../values/host.ts';

const along =
  (fn: (x: Tensor, dim: number) => Tensor): Operator =>
  ({ attributes }) => {
    const axis = attributes.int('axis', -1);
    return ([x]) => fn(tensorOf(x!), axis);
  };

const batch: Operator = ({ attributes }) => {
  const eps = attributes.number('epsilon', 1e-5);
  if (attributes.flag('training_mode', false)) throw missing('BatchNormalization in training mode');
  return (operands) => {
    const [x, weight, bias, mean, variance] = operands.map((each) => tensorOf(each!)) as [
      Tensor,
      Tensor,
      Tensor,
      Tensor,
      Tensor,
    ];
    return batchNorm(x, mean, variance, { weight, bias, eps });
  };
};

const instance: Operator = ({ attributes }) => {
  const eps = attributes.number('epsilon', 1e-5);
  return (operands) => {
    const [x, weight, bias] = operands.map((each) => tensorOf(each!)) as [Tensor, Tensor, Tensor];
    return instanceNorm(x, { weight, bias, eps });
  };
};

const layer: Operator = ({ attributes, outputs }) => {
  const eps = attributes.number('epsilon', 1e-5);
  const axis = attributes.int('axis', -1);
  return ([x, weight, bias]) => {
    const tensor = tensorOf(x!);
    const dim = fromStart(axis, tensor.rank);
    const shape = tensor.shape.slice(dim);
    const shaped = (each: Value | null | undefined) => (each ? tensorOf(each).expand(shape) : null);
    const y = layerNorm(tensor, shape, shaped(weight), shaped(bias), eps);
    if (outputs === 1) return y;
    const dims = shape.map((_, i) => dim + i);
    const mean = tensor.mean(dims, { keepDim: true });
    const variance = tensor.sub(mean).square().mean(dims, { keepDim: true });
    return [y, mean, variance.add(eps).rsqrt()] as readonly Value[];
  };
};

const group: Operator = ({ attributes, opset }) => {
  const eps = attributes.number('epsilon', 1e-5);
  const groups = attributes.int('num_groups', 1, { min: 1 });
  return (operands) => {
    const [x, scale, shift] = operands.map((each) => tensorOf(each!)) as [Tensor, Tensor, Tensor];
    // Up to opset 20 there is one scale per group.
    const perGroup = x.shape[1]! / groups;
    const shaped = (each: Tensor) => (opset < 21 ? each.repeatInterleave(perGroup) : each);
    return groupNorm(x, groups, shaped(scale), shaped(shift), eps);
  };
};

const lpNormalization: Operator = ({ attributes }) => {
  const axis = attributes.int('axis', -1);
  const p = attributes.int('p', 2, { min: 1, max: 2 });
  return ([x]) => {
    const tensor = tensorOf(x!);
    const norm =
      p === 1
        ? tensor.abs().sum([axis], { keepDim: true })
        : tensor.square().sum([axis], { keepDim: true }).sqrt();
    // Zero rows stay zero.
    return tensor.div(norm.add(norm.eq(0).to(tensor.dtype)));
  };
};

export const normalizationOperators: Readonly<Record<string, Operator>> = {
  Softmax: along((x, dim) => softmax(x, dim)),
  LogSoftmax: along((x, dim) => logSoftmax(x, dim)),
  BatchNormalization: batch,
  InstanceNormalization: instance,
  LayerNormalization: layer,
  GroupNormalization: group,
  LpNormalization: lpNormalization,
};
