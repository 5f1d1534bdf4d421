/** What a trace knows of a tensor's layout is what the tensor says, at every size that it runs at. */

import { describe, expect, it } from 'vitest';
import { cat, type Tensor, tensor, toStatic } from '../../src/index.ts';
import { describeValues } from './snapshot.ts';

type Past = readonly [Tensor, Tensor] | null;

/** Of an input, and of results: contiguous, transposed, and a part of another tensor. */
const tensors: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  'an input': (x) => x,
  'a result': (x) => x.add(1),
  'a transposed view': (x) => x.t(),
  'a part of a result': (x) => x.add(1).narrow(0, 1, 1),
};

const facts: Readonly<Record<string, (x: Tensor) => number>> = {
  'size()': (x) => x.size().length + x.size()[0]!,
  'size(0)': (x) => x.size(0),
  'size(-1)': (x) => x.size(-1),
  numel: (x) => x.numel(),
  nelement: (x) => x.nelement(),
  nbytes: (x) => x.nbytes,
  itemsize: (x) => x.itemsize + x.elementSize(),
  rank: (x) => x.rank + x.ndim + x.dim() + x.ndimension(),
  strides: (x) => x.strides[0]! + 10 * x.strides[1]!,
  'stride()': (x) => x.stride()[0]! + 10 * x.stride(-1),
  offset: (x) => x.offset + x.storageOffset(),
  isContiguous: (x) => (x.isContiguous ? 1 : 2),
  retainsGrad: (x) => (x.retainsGrad ? 1 : 2),
};

const sizes = [
  [2, 3],
  [3, 3],
  [4, 5],
  [5, 2],
] as const;

describe.each(Object.entries(tensors))('%s', (_name, of) => {
  it.each(Object.entries(facts))('%s', (_fact, fact) => {
    const fn = (x: Tensor) => x.mul(fact(of(x)));
    const captured = toStatic(fn);
    for (const shape of sizes) {
      const x = tensor(
        Float32Array.from({ length: shape[0] * shape[1] }, (_, i) => i + 1),
        { shape },
      );
      expect(captured(x).tolist(), shape.join()).toEqual(fn(x).tolist());
    }
  });
});

it.each(['size(0)', 'numel', 'nelement', 'nbytes'])('%s is one trace for all sizes', (name) => {
  const captured = toStatic((x: Tensor) => x.mul(facts[name]!(x)));
  for (const n of [2, 3, 4, 5, 6]) captured(tensor(new Float32Array(n)));
  expect(captured.stats()).toMatchObject({ translations: 2, breaks: [] });
});

/** Arguments of one shape or several, whose strides differ from call to call. */
const growing: Readonly<Record<string, (n: number) => Tensor>> = {
  'a column of a matrix that grows': (n) => counted(2, n).narrow(1, n - 1, 1),
  'columns of a matrix that grows': (n) => counted(2, n).narrow(1, n - 2, 2),
  'a transposed matrix that grows': (n) => counted(3, n).t(),
  'heads of a sequence that grows': (n) =>
    counted(2, n * 4)
      .view([2, n, 2, 2])
      .transpose(1, 2),
  'every other element': (n) =>
    counted(2, 2 * n)
      .view([2, n, 2])
      .select(2, 1),
  'rows that repeat': (n) => counted(1, n).expand([3, n]),
};

const counted = (rows: number, columns: number) =>
  tensor(
    Float32Array.from({ length: rows * columns }, (_, i) => (i * 7) % 11),
    {
      shape: [rows, columns],
    },
  );

const uses: Readonly<Record<string, (x: Tensor) => unknown>> = {
  'pointwise and reduced': (x) => x.mul(2).add(x.sum(-1, { keepDim: true })),
  'copied if need be': (x) => x.contiguous().flatten().add(1),
  'a view of it': (x) => x.transpose(0, -1).select(0, 0),
  'its strides': (x) => x.mul(x.stride(0)).add(x.strides.at(-1)!),
  'strides of results': (x) => [
    x.exp().strides,
    x.mul(x.neg().stride(0)),
    x.transpose(0, -1).strides,
  ],
  'offsets of views': (x) => [
    x.offset,
    x.select(0, 1).offset,
    x.narrow(0, 1, 1).storageOffset(),
    x.exp().select(0, 1).offset,
  ],
  'a decision by its strides': (x) => (x.stride(0) > 5 ? x.mul(2) : x.neg()),
  'joined with itself': (x) => cat([x, x.exp()], -1),
  'written in place': (x) => x.add_(1).sum(),
  'a gradient': (x) => {
    const leaf = x.detach().requiresGrad_();
    leaf.mul(leaf).sum().backward();
    return leaf.grad;
  },
};

describe.each(Object.entries(growing))('%s', (name, of) => {
  it.each(Object.entries(uses))('%s', (use, fn) => {
    for (const options of [
      {},
      { dynamic: true, check: 1 },
      { capture: 'auto' },
      { fullGraph: true },
    ] as const) {
      const captured = toStatic(fn, options);
      for (const n of [3, 4, 5, 6, 5]) {
        // An expanded tensor can't be written; eager execution says so.
        const run = (call: (x: Tensor) => unknown) => {
          const x = of(n);
          try {
            return describeValues([call(x), x]);
          } catch (error) {
            return (error as Error).message.split('\n')[0];
          }
        };
        expect(run(captured), `${n}`).toEqual(run(fn));
      }
      const { translations, fallbacks } = captured.stats();
      expect(fallbacks).toEqual([]);
      const decides = use === 'a decision by its strides' || use === 'offsets of views' ? 2 : 0;
      if (!(name === 'rows that repeat' && use === 'written in place')) {
        expect(translations).toBeLessThanOrEqual(2 + decides);
      }
    }
  });
});

it('the last tokens of a sequence that grows, and a cache of keys in a pair, are one trace', () => {
  const step = (ids: Tensor, past: readonly [Tensor, Tensor] | null) => {
    const heads = ids.float().unsqueeze(1).unsqueeze(-1).expand([-1, 2, -1, 2]);
    const [k, v] = past ? [cat([past[0], heads], 2), cat([past[1], heads], 2)] : [heads, heads];
    return { scores: heads.matmul(k.transpose(-1, -2)).matmul(v).sum(-1), past: [k, v] as const };
  };
  const captured = toStatic(step);
  for (const length of [3, 2, 4]) {
    let [ids, past, expected] = [counted(2, length), null, null] as [Tensor, Past, Past];
    for (let t = 0; t < 8; t++) {
      const last = past ? ids.narrow(1, ids.size(1) - 1, 1) : ids;
      const [found, wanted] = [captured(last, past), step(last, expected)];
      expect(describeValues([found])).toEqual(describeValues([wanted]));
      [past, expected] = [found.past, wanted.past];
      ids = cat([ids, counted(2, 1).add(t)], 1);
    }
  }
  const { translations, fallbacks } = captured.stats();
  expect(fallbacks).toEqual([]);
  expect(translations).toBeLessThanOrEqual(6);
});

it('a dimension that is not there is the error of eager execution', () => {
  const x = tensor([1, 2]);
  const fn = (own: Tensor) => own.mul(own.size(1));
  expect(() => fn(x)).toThrow('size: no such dimension');
  expect(() => toStatic(fn)(x)).toThrow('size: no such dimension');
});
