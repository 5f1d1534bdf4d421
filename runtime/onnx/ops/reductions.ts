import type { Tensor } from '../../tensor/tensor.ts';
import { axesOf, fromStart } from '../node/axes.ts';
import type { Operator } from '../node/node.ts';
import { hostOf, integerIn, isHost, tensorOf, type Value } from '../values/host.ts';

type Reduce = (x: Tensor, dims: readonly number[], keepDim: boolean) => Tensor;

function reduction(fn: Reduce, host?: (values: readonly number[]) => number): Operator {
  return (node) => {
    const keepDim = node.attributes.flag('keepdims', true);
    const isNoOp = node.attributes.flag('noop_with_empty_axes', false);
    return ([x, axes]) => {
      const reducedAxes = axesOf(node, axes);
      const isAll = reducedAxes === null || reducedAxes.length === 0;
      if (isHost(x!) && host && (isAll || x.shape.length === 1)) {
        return hostOf([host(x.values)], keepDim ? x.shape.map(() => 1) : [], x.dtype);
      }
      const tensor = tensorOf(x!);
      if (isAll && isNoOp) return fn(tensor.unsqueeze(0), [0], false);
      const dims = isAll
        ? tensor.shape.map((_, d) => d)
        : reducedAxes.map((axis) => fromStart(axis, tensor.rank));
      return dims.length === 0 ? fn(tensor.unsqueeze(0), [0], false) : fn(tensor, dims, keepDim);
    };
  };
}

const sum: Reduce = (x, dims, keepDim) => x.sum(dims, { keepDim }).to(x.dtype);

function place(fn: (x: Tensor, dim: number, keepDim: boolean) => Tensor): Operator {
  return ({ attributes }) => {
    const axis = attributes.int('axis', 0);
    const keepDim = attributes.flag('keepdims', true);
    const isLast = attributes.flag('select_last_index', false);
    return ([x]) => {
      const tensor = tensorOf(x!);
      const dim = fromStart(axis, tensor.rank);
      if (!isLast) return fn(tensor, dim, keepDim);
      return fn(tensor.flip([dim]), dim, keepDim).rsub(tensor.shape[dim]! - 1);
    };
  };
}

const cumulative: Operator = ({ attributes }) => {
  const exclusive = attributes.flag('exclusive', false);
  const reverse = attributes.flag('reverse', false);
  return ([x, axis]) => {
    const input = tensorOf(x!);
    const dim = fromStart(integerIn(axis!), input.rank);
    const ordered = reverse ? input.flip([dim]) : input;
    const sums = ordered.cumsum(dim).to(input.dtype);
    const shown = exclusive ? sums.sub(ordered) : sums;
    return reverse ? shown.flip([dim]) : shown;
  };
};

const topK: Operator = ({ attributes }) => {
  const axis = attributes.int('axis', -1);
  const largest = attributes.flag('largest', true);
  return ([x, k]) => {
    const [values, indices] = tensorOf(x!).topk(integerIn(k!), axis, largest);
    return [values, indices] as readonly Value[];
  };
};

/** Returns the result of a reduction over no entries: the op's identity element. */
function withoutEntries(
  x: Tensor,
  dims: readonly number[],
  keepDim: boolean,
  value: number,
): Tensor {
  const shape = x.shape.flatMap((size, d) => (!dims.includes(d) ? [size] : keepDim ? [1] : []));
  return x.newFull(shape, value);
}

const isEmptyAlong = (x: Tensor, dims: readonly number[]) => dims.some((dim) => x.shape[dim] === 0);

function extreme(name: 'amax' | 'amin', beyond: number): Reduce {
  return (x, dims, keepDim) => {
    const isBool = x.dtype === 'bool';
    if (isEmptyAlong(x, dims)) {
      return withoutEntries(x, dims, keepDim, isBool ? Number(beyond > 0) : beyond);
    }
    if (!isBool) return x[name](dims, { keepDim });
    return x.to('int32')[name](dims, { keepDim }).to('bool');
  };
}

const product: Reduce = (x, dims, keepDim) =>
  [...dims]
    .sort((a, b) => b - a)
    .reduce((result, dim) => result.prod(dim, keepDim), x)
    .to(x.dtype);

export const reductionOperators: Readonly<Record<string, Operator>> = {
  ReduceSum: reduction(sum, (values) => values.reduce((x, y) => x + y, 0)),
  ReduceMean: reduction((x, dims, keepDim) => x.mean(dims, { keepDim })),
  ReduceMax: reduction(extreme('amax', Number.NEGATIVE_INFINITY), (values) => Math.max(...values)),
  ReduceMin: reduction(extreme('amin', Number.POSITIVE_INFINITY), (values) => Math.min(...values)),
  ReduceProd: reduction(product, (values) => values.reduce((x, y) => x * y, 1)),
  ReduceL1: reduction((x, dims, keepDim) => sum(x.abs(), dims, keepDim)),
  ReduceL2: reduction((x, dims, keepDim) => x.square().sum(dims, { keepDim }).sqrt().to(x.dtype)),
  ReduceSumSquare: reduction((x, dims, keepDim) => sum(x.square(), dims, keepDim)),
  ReduceLogSum: reduction((x, dims, keepDim) => x.sum(dims, { keepDim }).log()),
  ReduceLogSumExp: reduction((x, dims, keepDim) => x.logsumexp(dims, { keepDim })),
  ArgMax: place((x, dim, keepDim) => x.argmax(dim, keepDim)),
  ArgMin: place((x, dim, keepDim) => x.argmin(dim, keepDim)),
  CumSum: cumulative,
  TopK: topK,
};
