/** A result that is another structure on each path: a tensor here, a list or an object there, or of another shape. */

import { describe, expect, it } from 'vitest';
import {
  type LoadedProgram,
  load,
  save,
  type Tensor,
  tensor,
  toStatic,
} from '../../../src/index.ts';
import { positive, sameAsEager, signs } from '../suite.ts';

const x = (...values: number[]) => tensor(values).requiresGrad_();

/** What a path may return. */
const structures: Readonly<Record<string, (x: Tensor) => unknown>> = {
  'a tensor': (x) => x.mul(2),
  'the argument': (x) => x,
  'a tensor of another shape': (x) => x.mul(3).sum(),
  'a tensor of another dtype': (x) => x.mul(3).int(),
  'a list': (x) => [x.mul(4)],
  'a longer list': (x) => [x.mul(5), x, x.sum()],
  'an empty list': () => [],
  'an object': (x) => ({ a: x.mul(6) }),
  'an object with other keys': (x) => ({ b: x.mul(7), a: [x.add(1)] }),
  'a Map': (x) => new Map([['k', x.mul(8)]]),
  'a Set': (x) => new Set([x.mul(9)]),
  text: () => 'none',
  'a number of the program': (x) => x.max().itemSync(),
  nothing: () => undefined,
};

const names = Object.keys(structures);

describe.each(names)('on one path %s', (first) => {
  it.each(names.filter((name) => name !== first))('on the other %s', (second) => {
    const [one, other] = [structures[first]!, structures[second]!];
    sameAsEager((x: Tensor) => (positive(x) ? one(x) : other(x)), signs);
  });
});

describe('a result of several structures', () => {
  it('in a field, beside what all paths have', () => {
    sameAsEager((x: Tensor) => {
      const y = x.mul(2);
      return { y, rest: positive(x) ? [y, y.mul(3)] : { y, sum: y.sum() } };
    }, signs);
  });

  it('of three paths, one inside another', () => {
    sameAsEager((x: Tensor) => {
      const y = x.mul(2);
      if (!positive(x)) return { y };
      return x.max().itemSync() > 20 ? [y, y.add(1)] : y.mul(2);
    }, signs);
  });

  it('in a field that existed before', () => {
    const f = (x: Tensor, into: { last?: unknown }) => {
      into.last = positive(x) ? x.mul(2).detach() : [x.mul(3).detach()];
      return x.mul(4);
    };
    sameAsEager(f, [() => [x(1, 2), {}], () => [x(-3, 1), {}]]);
  });

  it('takes one program for all sizes', () => {
    const captured = toStatic((x: Tensor) => (positive(x) ? x.mul(2) : [x, x.sum()]), {
      fullGraph: true,
    });
    for (const size of [2, 3, 4, 5]) {
      const [one, two] = [tensor(Array(size).fill(1)), tensor(Array(size).fill(-1))];
      expect((captured(one) as Tensor).tolist()).toEqual(Array(size).fill(2));
      expect((captured(two) as Tensor[]).map((own) => own.tolist())).toEqual([
        Array(size).fill(-1),
        -size,
      ]);
    }
    expect(captured.stats()).toMatchObject({ translations: 2, breaks: [] });
  });

  it('is saved', async () => {
    const captured = toStatic((x: Tensor) => (positive(x) ? x.mul(2) : { parts: [x, x.sum()] }), {
      fullGraph: true,
    });
    const given = [tensor([1, 2]), tensor([-1, -2])];
    const expected = given.map((own) => captured(own));
    const run = (await load(await save(captured))) as LoadedProgram;
    const [tensorOf, parts] = given.map((own) => run(own)) as [Tensor, { parts: Tensor[] }];
    expect(tensorOf.tolist()).toEqual((expected[0] as Tensor).tolist());
    expect(parts.parts.map((own) => own.tolist())).toEqual(
      (expected[1] as { parts: Tensor[] }).parts.map((own) => own.tolist()),
    );
  });
});
