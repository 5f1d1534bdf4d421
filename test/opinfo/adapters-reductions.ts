/** Operators of PyTorch that reduce, scan or order. */

import * as ours from '../../runtime/index.ts';
import type { Dims, ReduceOptions } from '../../runtime/ops/reduce/reduce.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { type Adapters, type Arguments, adapter, type Result } from './arguments.ts';
import { dtypeOf, inDtype } from './dtypes.ts';

const kept = (given: Arguments) => ({ keepDim: given.flag('keepdim') });

type Reduction = (x: Tensor, dims?: Dims, options?: ReduceOptions) => Result;

/** Those that take the dtype of their result. */
type Sum = (x: Tensor, dims?: Dims, options?: ours.SumOptions) => Result;

const sumOf = (name: string, fn: Sum) =>
  adapter(`${name}(x, dims, { keepDim, dtype })`, 'input dim keepdim', (given) =>
    fn(given.tensor('input'), given.dims('dim'), { ...kept(given), ...dtypeOption(given) }),
  );

const dtypeOption = (given: Arguments): ours.DTypeOption =>
  given.has('dtype') ? { dtype: dtypeOf(given, 'float32') } : {};

const reduction = (name: string, fn: Reduction) =>
  adapter(`${name}(x, dims, { keepDim })`, 'input dim keepdim', (given) =>
    fn(inDtype(given), given.dims('dim'), kept(given)),
  );

/** One dimension, or none for all. */
const place = (name: string, fn: (x: Tensor, dim: number | null, keepDim: boolean) => Result) =>
  adapter(`${name}(x, dim, keepDim)`, 'input dim keepdim', (given) =>
    fn(inDtype(given), given.numberOr('dim', null), given.flag('keepdim')),
  );

type Spread = (x: Tensor, dims?: Dims, options?: ours.VarianceOptions) => Result;

/** The first argument by position may be `unbiased`. */
const spread = (name: string, fn: Spread) =>
  adapter(`${name}(x, dims, { correction, keepDim })`, 'input dim unbiased keepdim', (given) => {
    const alone = typeof given.get('dim') === 'boolean';
    const unbiased = alone ? given.flag('dim') : given.flag('unbiased', true);
    return fn(given.tensor('input'), alone ? undefined : given.dims('dim'), {
      ...kept(given),
      correction: given.number('correction', unbiased ? 1 : 0),
    });
  });

interface Extreme {
  (x: Tensor): Tensor;
  (x: Tensor, other: Tensor): Tensor;
  (x: Tensor, dim: number, keepDim?: boolean): [Tensor, Tensor];
}

const extreme = (name: string, fn: Extreme) =>
  adapter(
    `${name}(x), ${name}(x, other), ${name}(x, dim, keepDim)`,
    'input dim keepdim',
    (given) => {
      const x = given.tensor('input');
      const second = given.get('dim') ?? given.get('other');
      if (second === undefined) return fn(x);
      return typeof second === 'number'
        ? fn(x, second, given.flag('keepdim'))
        : fn(x, second as Tensor);
    },
  );

type Quantile = typeof ours.quantile;

const quantile = (name: string, fn: Quantile) =>
  adapter(
    `${name}(x, q, dim, { keepDim, interpolation })`,
    'input q dim keepdim interpolation',
    (given) =>
      fn(given.tensor('input'), given.operand('q'), given.numberOr('dim', null), {
        ...kept(given),
        interpolation: given.text<ours.Interpolation>('interpolation', 'linear'),
      }),
  );

interface Middle {
  (x: Tensor): Tensor;
  (x: Tensor, dim: number, keepDim?: boolean): [Tensor, Tensor];
}

const middle = (name: string, fn: Middle) =>
  adapter(`${name}(x), ${name}(x, dim, keepDim)`, 'input dim keepdim', (given) =>
    given.has('dim')
      ? fn(given.tensor('input'), given.number('dim'), given.flag('keepdim'))
      : fn(given.tensor('input')),
  );

const scan = (name: string, fn: (x: Tensor, dim: number) => Result) =>
  adapter(`${name}(x, dim)`, 'input dim', (given) => fn(inDtype(given), given.number('dim')));

const partial = (name: string, fn: typeof ours.cumsum) =>
  adapter(`${name}(x, dim, { dtype })`, 'input dim', (given) =>
    fn(given.tensor('input'), given.number('dim'), dtypeOption(given)),
  );

const order = (given: Arguments): [number, boolean] => [
  given.number('dim', -1),
  given.flag('descending'),
];

export const reductionAdapters: Adapters = {
  all: reduction('all', ours.all),
  any: reduction('any', ours.any),
  amax: reduction('amax', ours.amax),
  amin: reduction('amin', ours.amin),
  aminmax: reduction('aminmax', ours.aminmax),
  mean: sumOf('mean', ours.mean),
  nanmean: reduction('nanmean', ours.nanmean),
  nansum: sumOf('nansum', ours.nansum),
  sum: sumOf('sum', ours.sum),
  logsumexp: reduction('logsumexp', ours.logsumexp as Reduction),
  count_nonzero: adapter('countNonzero(x, dims)', 'input dim', (given) =>
    ours.countNonzero(given.tensor('input'), given.dims('dim')),
  ),
  argmax: place('argmax', ours.argmax),
  argmin: place('argmin', ours.argmin),
  prod: adapter('prod(x, dim, keepDim, { dtype })', 'input dim keepdim', (given) =>
    ours.prod(
      given.tensor('input'),
      given.numberOr('dim', null),
      given.flag('keepdim'),
      dtypeOption(given),
    ),
  ),
  std: spread('std', ours.std),
  var: spread('variance', ours.variance),
  std_mean: spread('stdMean', ours.stdMean),
  var_mean: spread('varMean', ours.varMean),
  max: extreme('max', ours.max),
  min: extreme('min', ours.min),
  median: middle('median', ours.median),
  nanmedian: middle('nanmedian', ours.nanmedian),
  quantile: quantile('quantile', ours.quantile),
  nanquantile: quantile('nanquantile', ours.nanquantile),
  norm: adapter('norm(x, p, dims, { keepDim })', 'input p dim keepdim', (given) => {
    const p = given.get('p');
    const order = p === 'nuc' || p === 'fro' || p === undefined ? (p ?? 2) : Number(p);
    return ours.norm(inDtype(given), order as number, given.dims('dim'), kept(given));
  }),
  dist: adapter('dist(x, other, p)', 'input other p', (given) =>
    ours.dist(given.tensor('input'), given.tensor('other'), given.number('p', 2)),
  ),

  cummax: scan('cummax', ours.cummax),
  cummin: scan('cummin', ours.cummin),
  cumprod: partial('cumprod', ours.cumprod),
  cumsum: partial('cumsum', ours.cumsum),
  logcumsumexp: scan('logcumsumexp', ours.logcumsumexp),
  diff: adapter('diff(x, n, dim, { prepend, append })', 'input n dim prepend append', (given) =>
    ours.diff(given.tensor('input'), given.number('n', 1), given.number('dim', -1), {
      prepend: given.tensorOrNull('prepend'),
      append: given.tensorOrNull('append'),
    }),
  ),
  gradient: adapter('gradient(x, { spacing, dim, edgeOrder })', 'input', (given) => {
    const spacing = given.get('spacing') as number | readonly (number | Tensor)[] | undefined;
    return ours.gradient(given.tensor('input'), {
      ...(spacing !== undefined && { spacing }),
      ...(given.has('dim') && { dim: given.list('dim') }),
      edgeOrder: given.number('edge_order', 1) as 1 | 2,
    });
  }),
  trapezoid: adapter('trapezoid(y, { x, dx, dim })', 'input x', (given) =>
    ours.trapezoid(given.tensor('input'), {
      x: given.tensorOrNull('x'),
      dx: given.number('dx', 1),
      dim: given.number('dim', -1),
    }),
  ),
  cumulative_trapezoid: adapter('cumulativeTrapezoid(y, { x, dx, dim })', 'input x', (given) =>
    ours.cumulativeTrapezoid(given.tensor('input'), {
      x: given.tensorOrNull('x'),
      dx: given.number('dx', 1),
      dim: given.number('dim', -1),
    }),
  ),

  sort: adapter('sort(x, dim, descending)', 'input dim descending stable', (given) =>
    ours.sort(given.tensor('input'), ...order(given)),
  ),
  argsort: adapter('argsort(x, dim, descending)', 'input dim descending stable', (given) =>
    ours.argsort(given.tensor('input'), ...order(given)),
  ),
  msort: adapter('msort(x)', 'input', (given) => ours.msort(given.tensor('input'))),
  topk: adapter('topk(x, k, dim, largest)', 'input k dim largest sorted', (given) =>
    ours.topk(
      given.tensor('input'),
      given.number('k'),
      given.number('dim', -1),
      given.flag('largest', true),
    ),
  ),
  kthvalue: adapter('kthvalue(x, k, dim, keepDim)', 'input k dim keepdim', (given) =>
    ours.kthvalue(
      given.tensor('input'),
      given.number('k'),
      given.number('dim', -1),
      given.flag('keepdim'),
    ),
  ),

  softmax: adapter('softmax(x, dim, { dtype })', 'input dim dtype', (given) =>
    ours.softmax(given.tensor('input'), given.number('dim'), dtypeOption(given)),
  ),
  log_softmax: adapter('logSoftmax(x, dim, { dtype })', 'input dim dtype', (given) =>
    ours.logSoftmax(given.tensor('input'), given.number('dim'), dtypeOption(given)),
  ),
  'nn.functional.softmin': adapter(
    'softmin(x, dim, { dtype })',
    'input dim _stacklevel dtype',
    (given) => ours.softmin(given.tensor('input'), given.number('dim'), dtypeOption(given)),
  ),
};
