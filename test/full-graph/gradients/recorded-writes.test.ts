/** Writes in place through which gradients flow, to tensors that the branch or loop has made. */

import { describe, expect, it } from 'vitest';
import { FullGraphError, type Tensor, tensor, toStatic } from '../../../src/index.ts';
import { type Fn, outcome, release } from '../outcome.ts';
import { sameAsEager } from '../suite.ts';

const given = [
  [0.5, 0.25, 2],
  [-0.5, 0.25, 1],
  [0.5, 0.3, 0],
  [0.5, 0.3, 3],
].map(([a, b, n]) => () => [tensor([a!, b!]).requiresGrad_(), tensor(n!)]);

const inside: Readonly<Record<string, (x: Tensor, n: Tensor) => Tensor>> = {
  'a branch': (x) => {
    let a = x;
    if (x.sum().itemSync() > 0) {
      const y = x.mul(1.1);
      y.mul_(0.7);
      a = y.add(a);
    }
    return a;
  },
  'a branch that returns it and a view of it': (x) => {
    let a = x.mul(2);
    let v = a.narrow(0, 0, 1);
    if (x.sum().itemSync() > 0) {
      a = x.mul(3);
      v = a.narrow(0, 0, 1);
      v.mul_(2);
    }
    return a.mul(a).sum().add(v.sum());
  },
  'a write through a view': (x) => {
    let a = x.mul(2);
    if (x.sum().itemSync() > 0) {
      const y = x.mul(3);
      y.narrow(0, 0, 1).mul_(x.narrow(0, 1, 1));
      a = y.mul(y);
    }
    return a;
  },
  'a loop, several': (x, n) => {
    let a = x.mul(2);
    for (let i = 0; i < n.itemSync(); i++) {
      const y = a.mul(0.9);
      y.mul_(0.7);
      y.tanh_();
      a = y.add(a);
    }
    return a;
  },
  'a loop, to what the next iteration begins with': (x, n) => {
    let a = x.mul(2);
    for (let i = 0; i < n.itemSync(); i++) {
      a = a.mul(0.9);
      a.mul_(x);
    }
    return a;
  },
  'a loop, to elements of a list': (x, n) => {
    const out: Tensor[] = [];
    let s = x.mul(1);
    for (let i = 0; i < n.itemSync(); i++) {
      const y = x.mul(i + 1);
      y.mul_(0.7);
      out.push(y);
      s = s.add(y);
    }
    return s.mul(out.length);
  },
  'the code after a return': (x, n) => {
    if (n.itemSync() > 1) return x.mul(2);
    const y = x.mul(1);
    y.mul_(0.7);
    return y.add(x);
  },
};

/** Those are written in one region and made in another one. */
const across: Readonly<Record<string, (x: Tensor, n: Tensor) => Tensor>> = {
  'what was made before the loop': (x, n) => {
    const a = x.mul(2);
    for (let i = 0; i < n.itemSync(); i++) a.mul_(x);
    return a;
  },
  'what was made around the branch': (x, n) => {
    let a = x.mul(2);
    if (x.sum().itemSync() > 0) {
      const y = x.mul(1.1);
      if (n.itemSync() > 1) y.mul_(0.7);
      a = y.add(a);
    }
    return a;
  },
  'one of two': (x, n) => {
    let y = x.mul(1.1);
    if (n.itemSync() > 1) y = x.mul(2);
    y.mul_(0.7);
    return y.add(x);
  },
};

/** Backward reads what is written. */
const lost: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  'an operand': (x) => {
    if (x.sum().itemSync() < 0) return x;
    const y = x.mul(1.1);
    const z = y.sin();
    y.mul_(0.7);
    return y.mul(z);
  },
  'a result': (x) => {
    if (x.sum().itemSync() < 0) return x;
    return x.mul(3).exp_().mul_(x);
  },
};

describe('full-graph/recorded writes', () => {
  it.each(Object.entries(inside))('inside of a region: %s', (_name, fn) => {
    sameAsEager(fn, given, { auto: 'fewer' });
  });

  it.each(Object.entries(across))('%s is left to eager execution', (_name, fn) => {
    expect(() => toStatic(fn, { fullGraph: true })(...(given[0]!() as [Tensor, Tensor]))).toThrow(
      FullGraphError,
    );
    expectEagerly(fn);
  });

  it.each(Object.entries(lost))('backward rejects the write to what it needs: %s', (_name, fn) => {
    expectEagerly(fn);
  });
});

function expectEagerly(fn: Fn): void {
  for (const options of [{ capture: 'auto' }, {}] as const) {
    const graph = toStatic(fn, options);
    for (const make of given) {
      const both = [fn, graph as Fn].map((each) => {
        const args = make();
        try {
          return JSON.stringify(outcome(each, args));
        } catch (error) {
          return String(error).split('\n')[0];
        } finally {
          release(args);
        }
      });
      expect(both[1]).toBe(both[0]);
    }
  }
}
