/** A loaded program of contiguous arguments gets strided ones: it copies those of which nothing shows a copy, and rejects the others. */

import { describe, expect, it } from 'vitest';
import {
  type LoadedProgram,
  load,
  ShapeError,
  save,
  type Tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { values } from '../trace/same-as-eager.ts';
import { describeValues } from '../trace/snapshot.ts';

type Fn = (a: Tensor, b: Tensor) => unknown;

const onlyRead: Readonly<Record<string, Fn>> = {
  'arithmetic on both': (a, b) => a.mul(b).sum(0),
  'a product with a view': (a, b) => a.t().matmul(b),
};

const shown: Readonly<Record<string, Fn>> = {
  'a write in place': (a, b) => a.add_(1).mul(b),
  'a write through a view': (a, b) => {
    a.select(0, 1).mul_(b.select(0, 0));
    return b.mul(2);
  },
  'a result that is a view': (a, b) => [a.t(), b.mul(2)],
  'a write in a branch': (a, b) => {
    if (b.sum().itemSync() > -1e9) a.mul_(2);
    return a.sum();
  },
};

/** Of two rows, in memory of its own: contiguous, or the transpose of three. */
const layouts = {
  contiguous: (salt: number) => values([2, 3], salt),
  transposed: (salt: number) => values([3, 2], salt).t(),
  'every second': (salt: number) => values([2, 6], salt).reshape([2, 3, 2]).select(2, 1),
} as const;

type Layout = keyof typeof layouts;

async function loadedOf(fn: Fn): Promise<LoadedProgram> {
  const captured = toStatic(fn, { fullGraph: true });
  for (let call = 0; call < 2; call++) tidy(() => void captured(values([2, 3]), values([2, 3], 1)));
  return (await load(await save(captured))) as LoadedProgram;
}

/** What a call shows: arguments, result, and the arguments once the result is written. */
function outcome(run: Fn, args: readonly [Tensor, Tensor]): unknown {
  const result = run(...args);
  const before = describeValues([args, result]);
  for (const each of [result].flat() as Tensor[]) each.add_(10);
  return [before, describeValues([...args])];
}

const given = (a: Layout, b: Layout) => [layouts[a](3), layouts[b](4)] as const;
const pairs = (Object.keys(layouts) as Layout[]).flatMap((a) =>
  (Object.keys(layouts) as Layout[]).map((b) => [a, b] as const),
);

describe('save/strided-arguments', () => {
  it.each(Object.entries(onlyRead))('%s: any strides', async (_name, fn) => {
    const loaded = await loadedOf(fn);
    for (const [a, b] of pairs) {
      expect(outcome(loaded as Fn, given(a, b))).toEqual(outcome(fn, given(a, b)));
    }
  });

  it.each(Object.entries(shown))('%s: strides of that argument as saved', async (_name, fn) => {
    const loaded = await loadedOf(fn);
    for (const [a, b] of pairs) {
      const run = () => outcome(loaded as Fn, given(a, b));
      if (a === 'contiguous') expect(run()).toEqual(outcome(fn, given(a, b)));
      else expect(run).toThrow(ShapeError);
    }
  });

  it('a strided view of memory that another argument writes', async () => {
    const fn: Fn = (a, b) => [a.add_(1).mul(2), b.mul(3)];
    const captured = toStatic(fn, { fullGraph: true });
    const shared = () => values([2, 3]);
    const same = shared();
    captured(same, same.reshape([2, 3]));
    const loaded = (await load(await save(captured))) as LoadedProgram;
    const base = values([3, 3]);
    expect(() => loaded(base.narrow(0, 0, 2), base.t().narrow(0, 0, 2))).toThrow(ShapeError);
  });
});
