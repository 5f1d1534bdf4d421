import type { Dims } from '../../../runtime/ops/reduce/reduce.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { type Call, describeRecorded, type Keywords } from './recorded-calls.ts';

const dims = (value: unknown) => (value ?? undefined) as Dims;
const keep = ({ keepdim }: Keywords) => ({ keepDim: (keepdim as boolean) ?? false });

const reduction =
  (name: 'any' | 'all' | 'amax' | 'amin'): Call =>
  (x, [dim], keywords) =>
    x[name](dims(dim ?? keywords.dim), keep(keywords));

const place =
  (name: 'argmax' | 'argmin'): Call =>
  (x, _args, keywords) =>
    x[name]((keywords.dim as number) ?? null, (keywords.keepdim as boolean) ?? false);

const extreme =
  (name: 'max' | 'min'): Call =>
  (x, [other]) => {
    if (other === undefined) return x[name]();
    return typeof other === 'number' ? x[name](other) : x[name](other as Tensor);
  };

const spread =
  (name: 'var' | 'std'): Call =>
  (x, [unbiased], keywords) => {
    const biased = unbiased === false || keywords.unbiased === false;
    const correction = (keywords.correction as number | undefined) ?? (biased ? 0 : 1);
    return x[name](dims(keywords.dim), { ...keep(keywords), correction });
  };

describeRecorded(
  "reductions and scans give PyTorch's recorded values and gradients",
  new URL('data/pytorch-reductions.jsonl', import.meta.url),
  {
    any: reduction('any'),
    all: reduction('all'),
    amax: reduction('amax'),
    amin: reduction('amin'),
    argmax: place('argmax'),
    argmin: place('argmin'),
    max: extreme('max'),
    min: extreme('min'),
    var: spread('var'),
    std: spread('std'),
    prod: (x, [dim], { dim: named, keepdim }) =>
      x.prod(((dim ?? named) as number) ?? null, (keepdim as boolean) ?? false),
    cumsum: (x, [dim]) => x.cumsum(dim as number),
    cumprod: (x, [dim]) => x.cumprod(dim as number),
    count_nonzero: (x, _args, { dim }) => x.countNonzero(dims(dim)),
    logsumexp: (x, [dim, keepDim]) => x.logsumexp(dims(dim), { keepDim: keepDim as boolean }),
    norm: (x, [p, dim]) => x.norm(p === undefined || p === 'fro' ? 2 : Number(p), dims(dim)),
    softmax: (x, [dim]) => x.softmax(dim as number),
    log_softmax: (x, [dim]) => x.logSoftmax(dim as number),
    'nn.functional.softmin': (x, [dim]) => x.neg().softmax(dim as number),
  },
);
