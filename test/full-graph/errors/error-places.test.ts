/** Conformance 95: errors lead to the user's lines, in modules of every kind, and leave everything as it was. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  AutogradError,
  cond,
  FullGraphError,
  memory,
  ShapeError,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../../src/index.ts';
import { withSources } from '../../source-process.ts';

const folder = join(import.meta.dirname, 'fixtures');
const full = { fullGraph: true } as const;

interface Told {
  readonly name: string;
  readonly message: string;
  readonly stack: string;
  readonly kept: number;
}

describe('in files of several kinds', () => {
  const printed = execFileSync(
    process.execPath,
    ['--no-warnings', ...withSources, join(folder, 'print-errors.ts')],
    { encoding: 'utf8' },
  );
  type Kind = 'structures' | 'thrown' | 'refused';
  const report = JSON.parse(printed) as Record<string, Record<Kind, Told>>;

  const files = { esm: 'helper.mjs', common: 'common.cjs', typed: 'typed.ts' };
  it.each(Object.entries(files))('%s', (kind, file) => {
    const { structures, thrown, refused } = report[kind]!;
    const lines = readFileSync(join(folder, file), 'utf8').split('\n');
    const place = (text: string) => {
      const line = lines.findIndex((each) => each.includes(text));
      return `${file}:${line + 1}:${lines[line]!.indexOf(text) + 1}`;
    };
    // While it is compiled: both lines, and the call that leads there.
    expect(structures.name).toBe('FullGraphError');
    expect(structures.message).toContain(place('return [own, own];'));
    expect(structures.message).toContain(place('return [[x], [x.mul(2)]]'));
    expect(structures.message).toMatch(
      /\d+ \| +if \(x\.sum\(\)\.itemSync\(\) > 0\) \{ {2}<--- HERE/,
    );
    expect(structures.message).toMatch(/called from .*print-errors/);
    // While it runs: the user's own error, as it was thrown.
    expect(thrown).toMatchObject({ name: 'RangeError', message: 'too large' });
    expect(thrown.stack).toContain(place("new RangeError('too large')"));
    expect(thrown.stack).toMatch(/print-errors\.ts:\d+:\d+/);
    // While it runs: an op's error, with the user's lines.
    expect(refused.name).toBe('ArgumentError');
    expect(refused.message).toContain(`${place('select(0').replace(/:\d+$/, '')}:`);
    expect(refused.message).toMatch(/\d+ \| +return x\.select\(0, .*<--- HERE/);
    for (const { stack, kept } of [structures, thrown, refused]) {
      expect(stack).toMatch(/^ {4}at \(\d+ frames? of tostatic\)$/m);
      expect(stack).not.toMatch(/at .*\/(src|runtime)\/(?!.*fixtures)/);
      expect(kept).toBe(0);
    }
  });
});

function failureOf(body: () => unknown): Error {
  try {
    body();
  } catch (error) {
    return error as Error;
  }
  throw new Error('nothing was thrown');
}

it('of an op that a branch rejects, once the branch is taken', () => {
  const f = toStatic((x: Tensor) => {
    if (x.sum().itemSync() > 5) return x.matmul(tensor([[1, 2, 3]]));
    return x;
  }, full);
  tidy(() => expect([...f(tensor([1, 2])).dataSync()]).toEqual([1, 2]));
  const error = failureOf(() => tidy(() => void f(tensor([5, 6]))));
  expect(error).toBeInstanceOf(ShapeError);
  expect(error.message).toMatch(
    /\| +if \(x\.sum\(\)\.itemSync\(\) > 5\) return x\.matmul.*<--- HERE/,
  );
  expect(error.stack).toMatch(/error-places\.test\.ts:\d+:\d+/);
});

it('of an async function: they reject its promise', async () => {
  const late = toStatic(async (x: Tensor) => {
    if (x.sum().itemSync() > 5) throw new RangeError('late');
    return x.mul(2);
  }, full);
  const [small, large] = [tensor([1, 2]), tensor([5, 6])];
  const y = await late(small);
  expect([...y.dataSync()]).toEqual([2, 4]);
  await expect(late(large)).rejects.toThrow(RangeError);
  const waits = toStatic(async (x: Tensor) => {
    await null;
    return x;
  }, full);
  await expect(waits(small)).rejects.toThrow(FullGraphError);
  await expect(waits(small)).rejects.toThrow(/await null;.*<--- HERE/);
  for (const each of [small, large, y]) each.dispose();
});

it('of backward: inside, and of what the program has answered', () => {
  const twice = (x: Tensor) => {
    let y = x.mul(2);
    while (y.sum().itemSync() < 20) y = y.mul(y);
    const loss = y.sum();
    loss.backward();
    loss.backward();
    return loss.detach();
  };
  const run = (f: typeof twice) =>
    failureOf(() => tidy(() => void f(tensor([1, 2]).requiresGrad_())));
  const [eager, inside] = [run(twice), run(toStatic(twice, full))];
  expect(inside).toBeInstanceOf(AutogradError);
  expect(inside.message.split('\n')[0]).toBe(eager.message.split('\n')[0]);
  expect(inside.message).toMatch(/\| +loss\.backward\(\);.*<--- HERE/);

  const forward = (x: Tensor) => {
    let y = x.mul(2);
    while (y.sum().itemSync() < 20) y = y.mul(y);
    return y.sum();
  };
  const outside = [forward, toStatic(forward, full)].map((f) =>
    failureOf(() =>
      tidy(() => {
        const loss = f(tensor([1, 2]).requiresGrad_());
        loss.backward();
        loss.backward();
      }),
    ),
  );
  for (const error of outside) expect(error).toBeInstanceOf(AutogradError);
  expect(outside[1]!.message).toContain('error-places.test.ts:');
});

let counter = 1;

it('leave variables, objects, memory and their versions as before', () => {
  const f = toStatic((x: Tensor, given: { count: number; list: number[] }) => {
    counter++;
    given.count = counter;
    given.list.push(3);
    x.add_(1);
    return x.mul(process.uptime());
  }, full);
  const [x, given] = [tensor([1, 2]), { count: 0, list: [1] }];
  const before = memory.stats('cpu').allocated;
  for (let i = 0; i < 2; i++) {
    expect(failureOf(() => f(x, given))).toBeInstanceOf(FullGraphError);
    expect({ counter, given }).toEqual({ counter: 1, given: { count: 0, list: [1] } });
    expect([...x.dataSync()]).toEqual([1, 2]);
    expect(x.holder!.version).toBe(0);
    expect(memory.stats('cpu').allocated).toBe(before);
  }
  x.dispose();
});

it.each<[string, (x: Tensor) => unknown]>([
  [
    'cond()',
    (x) =>
      cond(
        x.sum().gt(0),
        () => {
          const own = [x.mul(2)];
          return [own, own]; // one
        },
        () => {
          const sums = [x.sum()];
          return [sums, [x]]; // other
        },
      ),
  ],
])('of what the functions given to %s return: the lines of both', (_name, f) => {
  const error = failureOf(() => tidy(() => void toStatic(f, full)(tensor([1, 2]))));
  expect(error).toBeInstanceOf(FullGraphError);
  const [, one, other] =
    /given:.*?error-places\.test\.ts:(\d+):\d+ and .*?error-places\.test\.ts:(\d+):\d+\)/.exec(
      error.message,
    )!;
  const lines = readFileSync(import.meta.filename, 'utf8').split('\n');
  expect([one, other].map((line) => /\/\/ (\w+)$/.exec(lines[Number(line) - 1]!)?.[1])).toEqual([
    'one',
    'other',
  ]);
});
