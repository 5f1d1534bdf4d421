import { describe, expect, it } from 'vitest';
import { type Tensor, tensor, toStatic } from '../../src/index.ts';

const names = [
  'sum',
  'mean',
  'var',
  'std',
  'varMean',
  'stdMean',
  'nansum',
  'nanmean',
  'amax',
  'amin',
  'aminmax',
  'any',
  'all',
  'logsumexp',
] as const;

type Form = (x: Tensor, ...args: readonly unknown[]) => Tensor | [Tensor, Tensor];

const x = () =>
  tensor([
    [3, 1, 2],
    [0, -4, 7],
  ]);
const plain = (result: unknown) =>
  [result].flat().map((each) => ({
    shape: (each as Tensor).shape,
    values: (each as Tensor).tolist(),
  }));

describe.each(names)('%s', (name) => {
  const f: Form = (t, ...args) =>
    (t as unknown as Record<string, (...given: readonly unknown[]) => Tensor>)[name]!(...args);

  it.each([
    [{ dim: 0 }, [0]],
    [{ dim: -1, keepDim: true }, [-1, { keepDim: true }]],
    [{ dim: [0, 1] }, [[0, 1]]],
    [{ keepDim: true }, [null, { keepDim: true }]],
  ])('takes the dimensions by keyword: %j', (keywords, args) => {
    const expected = plain(f(x(), ...args));
    expect(plain(f(x(), keywords))).toEqual(expected);
    expect(plain(toStatic((t: Tensor) => f(t, keywords))(x()))).toEqual(expected);
  });

  it('takes keepDim by position', () => {
    expect(plain(f(x(), 1, true))).toEqual(plain(f(x(), 1, { keepDim: true })));
  });

  it('names an option that does not exist', () => {
    const mistake = () => f(x(), 0, { keepdim: true });
    expect(mistake).toThrow(new RegExp(`^${name}: no such option\\n +given: +keepdim\\n`));
    expect(() => f(x(), { dims: 0 })).toThrow(/given: +dims\n +expected: dim, keepDim/);
  });

  it('takes each dimension once', () => {
    for (const dims of [
      [0, 0],
      [1, -1],
    ]) {
      expect(() => f(x(), dims)).toThrow('a dimension appears twice');
    }
  });
});

it('types take keywords', () => {
  const kept: Tensor = x().sum({ dim: 0, keepDim: true });
  expect(kept.shape).toEqual([1, 3]);
  expect(x().norm(2, { dim: 1 }).shape).toEqual([2]);
  expect(x().var({ dim: 1, correction: 0 }).shape).toEqual([2]);
});

it('where a dimension is a number alone, an object says what to write', () => {
  expect(() => x().softmax({ dim: 0 } as never)).toThrow(
    /dimension \{ dim \} of a tensor with 2 dimensions[\s\S]*write the number itself/,
  );
});
