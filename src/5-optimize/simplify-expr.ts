import { getOrInsert } from '../../runtime/collections/get-or-insert.ts';
import type { Attrs } from '../../runtime/device/kernel-op.ts';
import { E, type Expr } from '../../runtime/ops/expr/expr.ts';

/**
 * Returns an equivalent expression with fewer nodes: the same bits for every operand, including negative zero,
 * infinities and NaN. `x + 0` is not `x` (−0 + 0 is 0), but `x − 0`, `x · 1` and `x¹` are.
 */
export function simplifyExpr(expr: Expr, attrs: Attrs): Expr {
  return rewrite(expr, (each) => {
    switch (each.kind) {
      case 'attr': {
        const value = attrs[each.name];
        return typeof value === 'number' ? { kind: 'const', value } : each;
      }
      case 'unary':
        return simplifyUnary(each);
      case 'binary':
        return simplifyBinary(each);
      case 'select':
        return simplifySelect(each);
      default:
        return each;
    }
  });
}

/** Rewrites from the leaves up. Visits shared nodes once: the inverse error function has millions of paths. */
function rewrite(expr: Expr, change: (expr: Expr) => Expr): Expr {
  const known = new Map<Expr, Expr>();
  const visit = (each: Expr): Expr => {
    return getOrInsert(known, each, () => change(withParts(each, visit)));
  };
  return visit(expr);
}

function withParts(expr: Expr, visit: (part: Expr) => Expr): Expr {
  switch (expr.kind) {
    case 'unary':
      return { ...expr, x: visit(expr.x) };
    case 'binary':
    case 'compare':
      return { ...expr, x: visit(expr.x), y: visit(expr.y) };
    case 'select':
      return E.select(visit(expr.test), visit(expr.then), visit(expr.otherwise));
    case 'precision':
      return { ...expr, single: visit(expr.single), double: visit(expr.double) };
    case 'double':
      return { ...expr, operands: expr.operands.map(visit) };
    case 'input':
    case 'const':
    case 'attr':
      return expr;
  }
}

/** Whether both expressions have the same nodes, with bitwise equal numbers. */
export function isSameExpr(a: Expr, b: Expr): boolean {
  const numbers = new Map<string, number>();
  const known = new Map<Expr, number>();
  const numberOf = (expr: Expr): number => {
    let number = known.get(expr);
    if (number === undefined) {
      const key = spelled(expr, numberOf);
      number = numbers.get(key) ?? numbers.size;
      numbers.set(key, number);
      known.set(expr, number);
    }
    return number;
  };
  return numberOf(a) === numberOf(b);
}

function spelled(expr: Expr, numberOf: (part: Expr) => number): string {
  switch (expr.kind) {
    case 'input':
      return `input ${expr.index}`;
    case 'const':
      return Object.is(expr.value, -0) ? 'const -0' : `const ${expr.value}`;
    case 'attr':
      return `attr ${expr.name}`;
    case 'unary':
      return `${expr.fn} ${numberOf(expr.x)}`;
    case 'binary':
    case 'compare':
      return `${expr.kind} ${expr.fn} ${numberOf(expr.x)} ${numberOf(expr.y)}`;
    case 'select':
      return `select ${[expr.test, expr.then, expr.otherwise].map(numberOf).join(' ')}`;
    case 'precision':
      return `precision ${numberOf(expr.single)} ${numberOf(expr.double)}`;
    case 'double':
      return `double ${expr.fn} ${expr.operands.map(numberOf).join(' ')}`;
  }
}

/** Whether the expression contains a node of this kind. */
export function hasPart(expr: Expr, kind: Expr['kind']): boolean {
  let found = false;
  rewrite(expr, (each) => {
    if (each.kind === kind) found = true;
    return each;
  });
  return found;
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
  if (fn === 'pow' && isConst(y, 1)) return x;
  if (fn === 'sub' && isConst(y, 0)) return x;
  if (fn === 'add' && isConst(y, -0)) return x;
  const repeats = fn === 'max' || fn === 'min';
  if (repeats && x.kind === 'binary' && x.fn === fn && isSameConst(x.y, y)) return x;
  return expr;
}

/** With `y = t(x) ? x : c`, `t(y) ? y : c` is `y`: where t(x) is false, both branches are c. */
function simplifySelect(expr: Expr): Expr {
  if (expr.kind !== 'select') return expr;
  const { test, otherwise } = expr;
  const y = expr.then;
  if (y.kind !== 'select' || otherwise.kind !== 'const') return expr;
  if (!isSameConst(y.otherwise, otherwise)) return expr;
  return isSameExpr(test, substitute(y.test, y.then, y)) ? y : expr;
}

/** Returns the expression with every occurrence of `part` replaced by `next`. */
export function substitute(expr: Expr, part: Expr, next: Expr): Expr {
  return rewrite(expr, (each) => (each.kind === part.kind && isSameExpr(each, part) ? next : each));
}

function isConst(expr: Expr, value: number): boolean {
  return expr.kind === 'const' && Object.is(expr.value, value);
}

function isSameConst(a: Expr, b: Expr): boolean {
  return a.kind === 'const' && b.kind === 'const' && Object.is(a.value, b.value);
}
