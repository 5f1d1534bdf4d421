/** What an element is estimated to take decides whether threads share a kernel, and into how many parts. */

import { describe, expect, it } from 'vitest';
import { nanosecondsOf } from '../../runtime/device/cpu/wasm/pointwise-kernel.ts';
import { E, type Expr } from '../../runtime/ops/expr/expr.ts';
import * as F from '../../runtime/ops/expr/expr-functions.ts';

const x = E.input(0);
const unary = Object.entries(F).filter(([, make]) => make.length === 1);

describe('estimates of pointwise kernels', () => {
  it.each(unary)(
    '%s: a polynomial in float32, the function of JavaScript in float64',
    (_, make) => {
      const expr = (make as (x: Expr) => Expr)(x);
      const single = nanosecondsOf({ expr, dtypes: ['float32', 'float32'] });
      const double = nanosecondsOf({ expr, dtypes: ['float64', 'float64'] });
      expect(single).toBeLessThan(12);
      expect(double).toBeGreaterThan(single);
    },
  );

  it('grow with the expression, by less than what a function takes', () => {
    const short = E.add(x, E.input(1));
    const long = [1, 2, 3, 4].reduce((sum) => E.add(E.mul(sum, x), x), short);
    const of = (expr: Expr) => nanosecondsOf({ expr, dtypes: Array(3).fill('float32') });
    expect(of(short)).toBeLessThan(0.5);
    expect(of(long)).toBeGreaterThan(of(short));
    expect(of(long)).toBeLessThan(of(E.exp(short)));
  });
});
