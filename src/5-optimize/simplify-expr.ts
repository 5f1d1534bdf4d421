import type { Attrs } from '../../runtime/ops/define-op.ts';
import { E, type Expr } from '../../runtime/ops/expr.ts';

/**
 * The expression in fewer nodes, with the same bits for every operand: negative zero, infinities and NaN
 * included. `x + 0` is not `x` (−0 + 0 is 0), but `x − 0` and `x · 1` are.
 */
export function simplifyExpr(expr: Expr, attrs: Attrs): Expr {
  switch (expr.kind) {
    case 'attr': {
      const value = attrs[expr.name];
      return typeof value === 'number' ? { kind: 'const', value } : expr;
    }
    case 'unary':
      return simplifyUnary({ ...expr, x: simplifyExpr(expr.x, attrs) });
    case 'binary':
      return simplifyBinary({
        ...expr,
        x: simplifyExpr(expr.x, attrs),
        y: simplifyExpr(expr.y, attrs),
      });
    case 'select':
      return simplifySelect(
        E.select(
          simplifyExpr(expr.test, attrs),
          simplifyExpr(expr.then, attrs),
          simplifyExpr(expr.otherwise, attrs),
        ),
      );
    case 'compare':
      return { ...expr, x: simplifyExpr(expr.x, attrs), y: simplifyExpr(expr.y, attrs) };
    default:
      return expr;
  }
}

const roundings: readonly string[] = ['floor', 'ceil', 'trunc', 'round'];

function simplifyUnary(expr: Expr & { readonly kind: 'unary' }): Expr {
  const { fn, x } = expr;
  if (x.kind !== 'unary') return expr;
  if (fn === 'neg' && x.fn === 'neg') return x.x;
  if (fn === 'abs' && x.fn === 'abs') return x;
  if (fn === 'abs' && x.fn === 'neg') return { kind: 'unary', fn: 'abs', x: x.x };
  return roundings.includes(fn) && roundings.includes(x.fn) ? x : expr;
}

function simplifyBinary(expr: Expr & { readonly kind: 'binary' }): Expr {
  const { fn, x, y } = expr;
  if (fn === 'mul' && isConst(y, 1)) return x;
  if (fn === 'mul' && isConst(x, 1)) return y;
  if (fn === 'div' && isConst(y, 1)) return x;
  if (fn === 'sub' && isConst(y, 0)) return x;
  if (fn === 'add' && isConst(y, -0)) return x;
  const repeats = fn === 'max' || fn === 'min';
  if (repeats && x.kind === 'binary' && x.fn === fn && isSameConst(x.y, y)) return x;
  return expr;
}

/** `t(y) ? y : c` of `y = t(x) ? x : c` is `y`: where t(x) fails, both branches are c. */
function simplifySelect(expr: Expr): Expr {
  if (expr.kind !== 'select') return expr;
  const { test, otherwise } = expr;
  const y = expr.then;
  if (y.kind !== 'select' || otherwise.kind !== 'const') return expr;
  if (!isSameConst(y.otherwise, otherwise)) return expr;
  const asInner = JSON.stringify(substitute(y.test, y.then, y));
  return JSON.stringify(test) === asInner ? y : expr;
}

/** The expression with `part` replaced by `next`, wherever it stands. */
export function substitute(expr: Expr, part: Expr, next: Expr): Expr {
  const wanted = JSON.stringify(part);
  const visit = (each: Expr): Expr => {
    if (JSON.stringify(each) === wanted) return next;
    switch (each.kind) {
      case 'unary':
        return { ...each, x: visit(each.x) };
      case 'binary':
      case 'compare':
        return { ...each, x: visit(each.x), y: visit(each.y) };
      case 'select':
        return E.select(visit(each.test), visit(each.then), visit(each.otherwise));
      default:
        return each;
    }
  };
  return visit(expr);
}

function isConst(expr: Expr, value: number): boolean {
  return expr.kind === 'const' && Object.is(expr.value, value);
}

function isSameConst(a: Expr, b: Expr): boolean {
  return a.kind === 'const' && b.kind === 'const' && Object.is(a.value, b.value);
}
