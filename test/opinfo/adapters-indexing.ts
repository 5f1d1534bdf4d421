/** Operators of PyTorch that take index tensors or masks. */

import * as ours from '../../runtime/index.ts';
import type { ScatterReduction } from '../../runtime/ops/advanced-indexing/scatter-reduce.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { type Adapters, type Arguments, adapter } from './arguments.ts';

const reductions: Readonly<Record<string, ScatterReduction>> = {
  add: 'sum',
  multiply: 'prod',
};

const entries = (given: Arguments): [Tensor, number, Tensor] => [
  given.tensor('input'),
  given.number('dim'),
  given.tensor('index'),
];

export const indexingAdapters: Adapters = {
  gather: adapter('gather(x, dim, index)', 'input dim index sparse_grad', (given) =>
    ours.gather(...entries(given)),
  ),
  scatter: adapter('scatter(x, dim, index, source)', 'input dim index src', (given) => {
    const source = given.has('value') ? given.number('value') : given.operand('src');
    if (!given.has('reduce')) return ours.scatter(...entries(given), source);
    const reduce = reductions[given.text('reduce', '')]!;
    const index = given.tensor('index');
    const values =
      source instanceof Tensor
        ? source
        : ours.fullLike(given.tensor('input'), source, { shape: index.shape });
    return ours.scatterReduce(...entries(given), values, reduce);
  }),
  scatter_add: adapter('scatterAdd(x, dim, index, source)', 'input dim index src', (given) =>
    ours.scatterAdd(...entries(given), given.tensor('src')),
  ),
  scatter_reduce: adapter(
    'scatterReduce(x, dim, index, source, reduce, { includeSelf })',
    'input dim index src reduce',
    (given) =>
      ours.scatterReduce(
        ...entries(given),
        given.tensor('src'),
        given.text<ScatterReduction>('reduce', 'sum'),
        { includeSelf: given.flag('include_self', true) },
      ),
  ),
  index_reduce: adapter(
    'indexReduce(x, dim, index, source, reduce, { includeSelf })',
    'input dim index source reduce',
    (given) =>
      ours.indexReduce(
        ...entries(given),
        given.tensor('source'),
        given.text<Exclude<ScatterReduction, 'sum'>>('reduce', 'prod'),
        { includeSelf: given.flag('include_self', true) },
      ),
  ),
  index_add: adapter('indexAdd(x, dim, index, source, alpha)', 'input dim index source', (given) =>
    ours.indexAdd(...entries(given), given.tensor('source'), given.number('alpha', 1)),
  ),
  index_copy: adapter('indexCopy(x, dim, index, source)', 'input dim index source', (given) =>
    ours.indexCopy(...entries(given), given.tensor('source')),
  ),
  index_fill: adapter('indexFill(x, dim, index, value)', 'input dim index value', (given) =>
    ours.indexFill(...entries(given), given.operand('value')),
  ),
  index_select: adapter('indexSelect(x, dim, index)', 'input dim index', (given) =>
    ours.indexSelect(...entries(given)),
  ),
  index_put: adapter(
    'indexPut(x, indices, values, { accumulate })',
    'input indices values accumulate',
    (given) =>
      ours.indexPut(given.tensor('input'), given.tensors('indices'), given.tensor('values'), {
        accumulate: given.flag('accumulate'),
      }),
  ),
  take: adapter('take(x, index)', 'input index', (given) =>
    ours.take(given.tensor('input'), given.tensor('index')),
  ),
  take_along_dim: adapter('takeAlongDim(x, indices, dim)', 'input indices dim', (given) =>
    ours.takeAlongDim(
      given.tensor('input'),
      given.tensor('indices'),
      given.numberOr('dim', undefined),
    ),
  ),
  masked_scatter: adapter('maskedScatter(x, mask, source)', 'input mask source', (given) =>
    ours.maskedScatter(given.tensor('input'), given.tensor('mask'), given.tensor('source')),
  ),
  masked_select: adapter('maskedSelect(x, mask)', 'input mask', (given) =>
    ours.maskedSelect(given.tensor('input'), given.tensor('mask')),
  ),
  bucketize: adapter('bucketize(x, boundaries, { right })', 'input boundaries', (given) =>
    ours.bucketize(given.tensor('input'), given.tensor('boundaries'), {
      right: given.flag('right'),
    }),
  ),
  searchsorted: adapter(
    'searchsorted(sorted, values, { right })',
    'sorted_sequence input',
    (given) =>
      ours.searchsorted(given.tensor('sorted_sequence'), given.operand('input'), {
        right: given.flag('right') || given.get('side') === 'right',
      }),
  ),
  bincount: adapter('bincount(x, weights, minLength)', 'input weights minlength', (given) =>
    ours.bincount(
      given.tensor('input'),
      given.tensorOrNull('weights'),
      given.number('minlength', 0),
    ),
  ),
  unique: adapter('unique(x, { returnInverse, returnCounts, dim })', 'input dim', (given) =>
    ours.unique(given.tensor('input'), given.has('dim') ? { dim: given.number('dim') } : {}),
  ),
  unique_consecutive: adapter(
    'uniqueConsecutive(x, { returnInverse, returnCounts, dim })',
    'input dim',
    (given) =>
      ours.uniqueConsecutive(
        given.tensor('input'),
        given.has('dim') ? { dim: given.number('dim') } : {},
      ),
  ),
  histc: adapter('histc(x, bins, min, max)', 'input bins min max', (given) =>
    ours.histc(
      given.tensor('input'),
      given.number('bins', 100),
      given.number('min', 0),
      given.number('max', 0),
    ),
  ),
};
