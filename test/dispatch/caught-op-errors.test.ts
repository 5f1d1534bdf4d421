/** Ops that throw into a handler of their own frame: the variable that was to be assigned keeps its tensor. */

import { describe, expect, it } from 'vitest';
import { memory, type Tensor, tidy, zeros } from '../../src/index.ts';
import { expectSameAsEager, values, type World } from '../trace/same-as-eager.ts';

/** Computed from it: what a call returns is the caller's in any case. */
const used = (kept: unknown): Tensor =>
  [kept]
    .flat()
    .reduce<Tensor>((sum, each) => (each ? sum.add(each as Tensor) : sum), zeros([2, 3]));

/** The op that throws, and what assigns its result to a variable that holds something. */
const attempts: Readonly<Record<string, (x: Tensor, held: unknown) => unknown>> = {
  'a tensor': (x, held) => {
    let kept = held;
    try {
      kept = x.add(zeros([4, 5]));
    } catch {
      x = x.mul(2);
    }
    return [used(kept), x.add(1)];
  },
  'an array of tensors': (x, held) => {
    let kept = held;
    try {
      kept = x.split(1, 7);
    } catch {
      x = x.mul(2);
    }
    return [used(kept), x.add(1)];
  },
  'in a loop, with a break before': (x, held) => {
    let kept = held;
    for (let i = 0; i < 3; i++) {
      const sum = x.sum().itemSync();
      try {
        kept = x.add(zeros([i + 4, 5]));
      } catch {
        x = x.mul(sum);
      } finally {
        x = x.add(i);
      }
    }
    return [used(kept), x];
  },
  'a failed op between two that succeed': (x, held) => {
    let kept = held;
    kept = x.add(1);
    try {
      kept = x.add(zeros([4, 5]));
    } catch {
      x = x.mul(kept as Tensor);
    }
    return x;
  },
};

const outer = { tensor: values([2, 3], 4), list: [values([2, 3], 5)] };

/** What the variable holds before, of the argument beside `x`. */
const before: Readonly<Record<string, (x: Tensor, given: Tensor) => unknown>> = {
  'an argument': (_x, given) => given,
  'the operand': (x) => x,
  'a result of the same call': (x) => x.tanh(),
  'a result in an array': (x) => [x.tanh(), x.exp()],
  'an outer tensor': () => outer.tensor,
  'an outer array of tensors': () => outer.list,
  nothing: () => null,
};

describe.each(Object.entries(attempts))('where an op fails, %s', (_name, attempt) => {
  it.each(Object.entries(before))('the variable keeps %s', (_kind, hold) => {
    const given = values([2, 3], 7);
    const make = (): World => ({
      fn: (x: Tensor, y: Tensor) => attempt(x, hold(x, y)),
      args: (call) => [values([2, 3], call), given],
      state: () => outer,
    });
    const start = memory.stats('cpu').allocated;
    tidy(() => {
      expectSameAsEager(make);
      given.add(outer.tensor).add(outer.list[0]!);
    });
    expect(memory.stats('cpu').allocated).toBe(start);
    given.dispose();
  });
});
