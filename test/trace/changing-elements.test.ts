/** Numbers in arrays of which each call changes only some, and comparisons of them that only choose numbers. */

import { describe, expect, it } from 'vitest';
import { exportModule } from '../../src/export/index.ts';
import {
  load,
  noGrad,
  save,
  type Tensor,
  type ToStaticOptions,
  tensor,
  toStatic,
} from '../../src/index.ts';
import { instanceOf } from '../export/module/module-instance.ts';
import { expectSameAsEager, values } from './same-as-eager.ts';
import { describeValues } from './snapshot.ts';

const count = 6;

/** Zeros but for a few elements, which are other ones in each call. */
const sparse = (call: number): number[] =>
  Array.from({ length: count }, (_, i) => ((call * 5 + i * i) % 7 === 0 ? 1 + (call % 3) : 0));

/** Sequences of other lengths in each call, padded with 0. */
const padded = (call: number): number[][] =>
  [0, 1].map((row) =>
    Array.from({ length: count }, (_, i) =>
      i < 1 + ((call * 3 + row) % count) ? call + i + 1 : 0,
    ),
  );

const spreadOut = (call: number): number[] =>
  Array.from({ length: count }, (_, i) => Math.sin(call * 7 + i * 3) * 3);

const modes: Readonly<Record<string, ToStaticOptions>> = {
  'by default': {},
  fullGraph: { fullGraph: true },
  dynamic: { dynamic: true },
};

type Form = readonly [args: (call: number) => unknown[], fn: (...args: never[]) => unknown];

describe.each(Object.entries(modes))('trace/changing-elements %s', (_mode, options) => {
  const forms: Readonly<Record<string, Form>> = {
    'tensor of sparse numbers': [(call) => [sparse(call)], (xs: number[]) => tensor(xs)],
    'a field of the objects of a batch': [
      (call) => [sparse(call).map((reward) => ({ reward }))],
      (batch: { reward: number }[]) => tensor(batch.map((each) => each.reward)),
    ],
    'an element as a scale': [
      (call) => [values([count]), sparse(call)],
      (x: Tensor, xs: number[]) => xs.reduce((sum, scale) => sum.add(x.mul(scale)), x),
    ],
    'an element as an index': [
      (call) => [values([5, 2]), sparse(call)],
      (x: Tensor, xs: number[]) => xs.map((i) => x.select(0, i)),
    ],
    'a mask of padding': [
      (call) => [padded(call)],
      (ids: number[][]) => tensor(ids.map((row) => row.map((id) => (id === 0 ? 0 : 1)))),
    ],
    'a mask of booleans': [
      (call) => [padded(call)],
      (ids: number[][]) => tensor(ids.map((row) => row.map((id) => id !== 0))),
    ],
    'comparisons as numbers': [
      (call) => [spreadOut(call)],
      (xs: number[]) => tensor(xs.map((x) => Number(x > 0) - +(x <= -1))),
    ],
    'nested comparisons': [
      (call) => [spreadOut(call)],
      (xs: number[]) => tensor(xs.map((x) => (x > 1 ? 1 : x < -1 ? -1 : x))),
    ],
    'comparisons with &&, || and !': [
      (call) => [spreadOut(call)],
      (xs: number[]) => tensor(xs.map((x) => (!(x > -2 && x < 2) || x === 0 ? -0 : x))),
    ],
    'a comparison that is returned': [
      (call) => [spreadOut(call)],
      ([a, b]: number[]) => [a! >= b!, a! >= b! ? a : b],
    ],
    'a rate that grows up to a limit': [
      (call) => [values([3]), { step: (call * 4) % 10 }],
      (x: Tensor, { step }: { step: number }) => x.mul(step < 5 ? step / 5 : 1),
    ],
  };
  it.each(Object.entries(forms))('%s', (_, [args, fn]) => {
    const { stats } = expectSameAsEager(() => ({ fn, args }), { calls: 20, ...options });
    expect(stats.fallbacks).toEqual([]);
    expect(stats.translations).toBeLessThanOrEqual(5);
  });

  it('a size that a comparison chooses has a program for each value, not a trace', () => {
    const { stats } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, { n }: { n: number }) => x.narrow(0, 0, n > 6 ? 6 : n).sum(),
        args: (call) => [values([12]), { n: 2 + ((call * 5) % 10) }],
      }),
      { calls: 20, ...options },
    );
    expect(stats.fallbacks).toEqual([]);
    expect(stats.translations).toBeLessThanOrEqual(4);
  });
});

describe('trace/changing-elements', () => {
  it('saved programs and modules compare', async () => {
    const f = toStatic(
      (x: Tensor, [a, b, c]: number[]): Tensor =>
        x.mul(a! > 0 ? 2 : b!).add(c! < b! && b! > 0 ? 1 : c!),
      { fullGraph: true },
    );
    const x = values([count]);
    for (let call = 0; call < 6; call++) f(x, spreadOut(call));
    const model = await instanceOf((await exportModule(f)).code);
    const loaded = (await load(await save(f))) as unknown as typeof f;
    for (let call = 6; call < 12; call++) {
      const expected = noGrad(() => f(x, spreadOut(call)));
      expect(describeValues([loaded(x, spreadOut(call))])).toEqual(describeValues([expected]));
      const made = model.run(x.dataSync(), spreadOut(call)) as { data: Float32Array };
      expect(made.data).toEqual(expected.dataSync());
    }
    expect(f.stats().translations).toBeLessThanOrEqual(4);
  });
});
