import type { DType } from '../../spec/dtype.ts';
import type { Expr } from './expr.ts';
import { nodesOf, operandsOf, withOperands } from './expr-nodes.ts';

/** Whether a kernel of these dtypes computes in float64. */
export function isDouble(dtypes: readonly DType[]): boolean {
  return dtypes.includes('float64');
}

type Precision = 'single' | 'double';

const chosen: { readonly [P in Precision]: WeakMap<Expr, Expr> } = {
  single: new WeakMap(),
  double: new WeakMap(),
};

/** Replaces `precision` nodes by the given precision; returns the same object if the expression has none. */
export function inPrecision(expr: Expr, precision: Precision): Expr {
  const done = chosen[precision];
  for (const node of done.has(expr) ? [] : nodesOf(expr)) {
    if (done.has(node)) continue;
    const operands = operandsOf(node);
    if (node.kind === 'precision') {
      done.set(node, done.get(node[precision])!);
      continue;
    }
    const replaced = operands.map((operand) => done.get(operand)!);
    const isSame = replaced.every((operand, i) => operand === operands[i]);
    done.set(node, isSame ? node : withOperands(node, replaced));
  }
  return done.get(expr)!;
}
