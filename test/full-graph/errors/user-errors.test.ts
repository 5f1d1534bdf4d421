/** Conformance 95: what a check of the user throws is the user's own error, with everything on it. */

import { expect, it, vi } from 'vitest';
import { memory, type Tensor, tensor, tidy, toStatic } from '../../../src/index.ts';
import { sameAsEager } from '../suite.ts';

class Diverged extends Error {
  override readonly name = 'Diverged';
  readonly step: number;
  readonly detail: { readonly loss: number };

  constructor(step: number, loss: number) {
    super(`diverged at step ${step}`);
    this.step = step;
    this.detail = { loss };
  }
}

it('keeps type, fields and message of an error thrown by a check (95)', () => {
  const fn = (x: Tensor, step: number) => {
    const loss = x.square().sum();
    if (loss.itemSync() > 100) throw new Diverged(step, loss.itemSync());
    return loss.mul(2);
  };
  const captured = toStatic(fn, { fullGraph: true });
  const thrown = (run: typeof fn): unknown => {
    try {
      tidy(() => void run(tensor([20, 30]), 7));
    } catch (error) {
      return error;
    }
    return null;
  };
  tidy(() => expect(captured(tensor([1, 2]), 7).itemSync()).toBe(10));
  const found = thrown(captured);
  expect(found).toBeInstanceOf(Diverged);
  expect(found).toEqual(thrown(fn));
  expect(found).toMatchObject({ step: 7, detail: { loss: 1300 }, message: 'diverged at step 7' });
  // It runs on afterwards, in the same program.
  tidy(() => expect(captured(tensor([1, 2]), 7).itemSync()).toBe(10));
  expect(captured.stats()).toMatchObject({ translations: 1, graphs: 1, breaks: [] });
});

const x = (...values: number[]) => tensor(values);

it('a check that fails after a write leaves what eager execution leaves', () => {
  const f = (state: { count: number; sum: Tensor }, y: Tensor) => {
    state.sum.add_(y);
    state.count++;
    if (state.sum.max().itemSync() > 3) throw new Diverged(state.count, 0);
    state.sum.mul_(2);
    state.count++;
    return state.sum.max().itemSync();
  };
  const make = (value: number) => () => [{ count: 0, sum: x(0, 1) }, x(value, value)];
  sameAsEager(f, [make(1), make(5), make(2)]);
});

it('so does one in an iteration of a loop, in a view of what is written', () => {
  const f = (buffer: Tensor, y: Tensor) => {
    const row = buffer.select(0, 1);
    let turns = 0;
    while (buffer.sum().itemSync() < 20) {
      row.add_(y);
      turns++;
      if (buffer.max().itemSync() > 8) throw new RangeError(`turn ${turns}`);
      if (turns > 3) buffer.fill_(9);
    }
    return turns;
  };
  const start = (...values: number[]) =>
    tensor(values.length > 0 ? values : [0, 1, 2, 3], { shape: [2, 2] });
  sameAsEager(f, [
    () => [start(), x(1, 1)],
    () => [start(), x(6, 1)],
    () => [start(), x(0, 3)],
    () => [start(5, 6, 7, 8), x(1, 1)],
    () => [start(8, 1, 2, 7), x(1, 1)],
  ]);
});

it('versions are as before, and nothing is kept', () => {
  const f = toStatic(
    (buffer: Tensor) => {
      buffer.add_(1);
      if (buffer.sum().itemSync() > 5) throw new RangeError('large');
      return buffer.sum();
    },
    { fullGraph: true },
  );
  tidy(() => f(x(0, 0)));
  const buffer = x(5, 5);
  const before = memory.stats('cpu').allocated;
  expect(() => tidy(() => void f(buffer))).toThrow(RangeError);
  expect(memory.stats('cpu').allocated).toBe(before);
  expect(buffer.holder!.version).toBe(1);
  expect([...buffer.dataSync()]).toEqual([6, 6]);
  buffer.dispose();
});

it('a line is written once, also where a later check fails', () => {
  const f = (y: Tensor) => {
    console.log('sum', y.sum().itemSync());
    if (y.sum().itemSync() > 5) throw new RangeError('large');
    console.log(y.mul(2));
    return y.sum().itemSync();
  };
  const graph = toStatic(f, { fullGraph: true });
  const lines = (run: typeof f, y: Tensor) => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    try {
      tidy(() => void run(y));
    } catch (error) {
      expect(error).toBeInstanceOf(RangeError);
    }
    const found = log.mock.calls.map((args) =>
      args.map((arg) => (typeof arg === 'object' ? 'a tensor' : arg)),
    );
    log.mockRestore();
    return found;
  };
  for (const y of [x(1, 2), x(5, 6), x(1, 1)]) {
    expect(lines(graph, y)).toEqual(lines(f, y));
    y.dispose();
  }
});
