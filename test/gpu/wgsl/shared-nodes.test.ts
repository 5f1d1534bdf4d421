/** Expressions whose nodes are reached in more ways than can be walked one by one. */

import { describe, expect, it } from 'vitest';
import { attrsInSource } from '../../../runtime/device/gpu/codegen/pointwise.ts';
import { inputsOf, splitExpr } from '../../../runtime/device/gpu/codegen/split-expr.ts';
import { E, type Expr } from '../../../runtime/ops/expr/expr.ts';
import { nodesOf } from '../../../runtime/ops/expr/expr-nodes.ts';

/** 2^60 ways lead through the sums to the expression. */
function doubled(expr: Expr): Expr {
  let sum = expr;
  for (let i = 0; i < 60; i++) sum = E.add(sum, sum);
  return sum;
}

describe('gpu/shared nodes', () => {
  it('exponents are found once', () => {
    const power = E.pow(E.input(0), E.attr('exponent'));
    expect(attrsInSource(doubled(power))).toEqual(['exponent']);
    expect(attrsInSource(doubled(E.add(power, E.pow(power, E.attr('other')))))).toEqual([
      'exponent',
      'other',
    ]);
    expect(attrsInSource(doubled(E.mul(E.input(0), E.attr('factor'))))).toEqual([]);
  });

  it('what is split in two has each node once', () => {
    const sum = [0, 1, 2, 3].map((i) => doubled(E.input(i))).reduce((a, b) => E.add(a, b));
    const { part, rest } = splitExpr(doubled(sum), 2, 4);
    expect(inputsOf(part)).toEqual([0, 1]);
    expect(inputsOf(rest)).toEqual([2, 3, 4]);
    expect(nodesOf(rest).length).toBeLessThan(4 * 61);
  });
});
