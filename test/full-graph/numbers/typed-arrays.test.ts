/** Typed arrays that branches and loops of the program change: those that they have made, and others. */

import { describe, expect, it } from 'vitest';
import { FullGraphError, type Tensor, tensor, toStatic } from '../../../src/index.ts';

type Step = (x: Tensor) => Tensor;

const own: Readonly<Record<string, Step>> = {
  'written on one path': (x) => {
    let s = 0;
    if (x.sum().itemSync() > 0) {
      const a = new Float32Array(2);
      a[0] = 5;
      s = a[0];
    }
    return x.mul(s);
  },
  'mapped on one path': (x) => {
    let s = 0;
    if (x.sum().itemSync() > 0) s = new Float32Array([1, 2]).map((v) => v * 2)[1]!;
    return x.mul(s);
  },
  'made on both paths': (x) => {
    let a: Float32Array;
    if (x.sum().itemSync() > 0) {
      a = new Float32Array(1);
      a[0] = 5;
    } else {
      a = new Float32Array(1);
      a.fill(3);
    }
    return x.mul(a[0]!);
  },
  'made in each iteration': (x) => {
    let s = 0;
    for (let i = 0; x.sum().itemSync() > i; i++) {
      const a = new Float32Array(2);
      a[0] = 4;
      s += a[0];
    }
    return x.mul(s);
  },
};

const others: Readonly<Record<string, Step>> = {
  'written on one path': (x) => {
    const a = new Float32Array(2);
    if (x.sum().itemSync() > 0) a[0] = 5;
    return x.mul(a[0]!);
  },
  'filled on one path': (x) => {
    const a = new Float32Array(2);
    if (x.sum().itemSync() > 0) a.fill(3);
    return x.mul(a[0]!);
  },
  'counted in a loop': (x) => {
    const a = new Float32Array(2);
    for (let i = 0; x.sum().itemSync() > i; i++) a[0]! += 1;
    return x.mul(a[0]!);
  },
};

const run = (fn: Step): number[][] => [1, -1, 2].map((v) => [...fn(tensor([v, v])).dataSync()]);

describe('a typed array', () => {
  it.each(Object.entries(own))('of the branch or loop, %s', (_name, step) => {
    expect(run(toStatic(step, { fullGraph: true }))).toEqual(run(step));
  });

  it.each(Object.entries(others))('of the code around it, %s', (_name, step) => {
    expect(run(toStatic(step, { capture: 'auto' }))).toEqual(run(step));
    expect(() => run(toStatic(step, { fullGraph: true }))).toThrow(FullGraphError);
  });
});
