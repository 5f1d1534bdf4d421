/** What is made of arrays that grow in loops of the program, and what they reject. */

import { describe, expect, it } from 'vitest';
import { cat, stack, type Tensor, tensor, tidy, toStatic } from '../../../src/index.ts';
import { sameAsEager } from '../suite.ts';

const x = (...values: number[]) => tensor(values).requiresGrad_();
/** No iteration, one, some, many. */
const inputs = [() => [x(60, 70)], () => [x(30, 40)], () => [x(5, 9)], () => [x(0.5, 0.25)]];

describe('what is made of such an array', () => {
  it('stack and cat, as results', () => {
    const f = (x: Tensor) => {
      const all = [x];
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        all.push(y);
      }
      const rows = stack(all);
      return { rows, again: rows, columns: stack(all, 1), flat: cat([x, ...all]), all };
    };
    sameAsEager(f, inputs, { exact: false });
  });

  it('of an empty one the error of eager execution', () => {
    const f = (x: Tensor) => {
      const all: Tensor[] = [];
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        all.push(y);
      }
      return stack(all);
    };
    sameAsEager(f, inputs.slice(1), {
      never: [['no iteration', 'y.sum()', 'stack() of nothing throws']],
    });
    const graph = toStatic(f, { fullGraph: true });
    expect(() => tidy(() => graph(tensor([60, 70])))).toThrow(/stack/);
  });
});

describe('an array of the program rejects', () => {
  it.each([
    [
      'elements of several shapes, with both lines',
      (x: Tensor) => {
        const all = [x];
        let y = x;
        while (y.sum().itemSync() < 100) {
          y = y.mul(2);
          all.push(y.sum());
        }
        return all;
      },
      /holds f32\[2\] tensors \(.*grown-list-results\.test\.ts:\d+:\d+\) and gets a f32\[\] tensor \(.*grown-list-results\.test\.ts:\d+:\d+\)/,
    ],
    [
      'its elements one by one',
      (x: Tensor) => {
        const all = [x];
        let y = x;
        while (y.sum().itemSync() < 100) {
          y = y.mul(2);
          all.push(y);
        }
        return all.join();
      },
      /needs its elements one by one/,
    ],
    [
      'functions made inside as elements',
      (x: Tensor) => {
        const all: object[] = [];
        let y = x;
        while (y.sum().itemSync() < 100) {
          y = y.mul(2);
          all.push(() => y);
        }
        return all;
      },
      /holds something other than tensors, numbers, and arrays and objects of them: it is a function/,
    ],
  ] as const)('%s', (_name, f, reason) => {
    const graph = toStatic(f as (x: Tensor) => unknown, { fullGraph: true });
    expect(() => tidy(() => graph(tensor([1, 2])))).toThrow(reason);
  });
});
