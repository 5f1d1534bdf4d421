import type { DoubleFn } from '../../../runtime/ops/expr/expr.ts';
import type { ArithmeticTarget, TargetValue } from '../target/target.ts';

/** Functions that JavaScript computes in float64, expressed by primitives that engines have. */
export function doubleFunction<V extends TargetValue>(
  to: ArithmeticTarget<V>,
  fn: DoubleFn,
  operands: readonly V[],
): V {
  const [x, second] = operands as [V, V];
  const c = (value: number) => to.constant(value, 'f64', x.shape);
  const add = (a: V, b: V) => to.binary('add', a, b);
  const sub = (a: V, b: V) => to.binary('subtract', a, b);
  const mul = (a: V, b: V) => to.binary('multiply', a, b);
  const div = (a: V, b: V) => to.binary('divide', a, b);
  const expm1 = (a: V) => to.unary('exponential_minus_one', a);
  const log1p = (a: V) => to.unary('log_plus_one', a);
  const log = (a: V) => to.unary('log', a);
  const sqrt = (a: V) => to.unary('sqrt', a);
  const atan2 = (a: V, b: V) => to.binary('atan2', a, b);
  const neg = (a: V) => to.unary('negate', a);
  switch (fn) {
    case 'tan':
      return div(to.unary('sine', x), to.unary('cosine', x));
    case 'asin':
      return atan2(x, sqrt(mul(sub(c(1), x), add(c(1), x))));
    case 'acos':
      return atan2(sqrt(mul(sub(c(1), x), add(c(1), x))), x);
    case 'atan':
      return atan2(x, c(1));
    case 'atan2':
      return atan2(x, second);
    case 'sinh':
      return mul(c(0.5), sub(expm1(x), expm1(neg(x))));
    case 'cosh':
      return mul(c(0.5), add(to.unary('exponential', x), to.unary('exponential', neg(x))));
    case 'asinh': {
      const a = to.unary('abs', x);
      const square = mul(a, a);
      const root = add(c(1), sqrt(add(c(1), square)));
      return mul(to.unary('sign', x), log1p(add(a, div(square, root))));
    }
    case 'acosh':
      return log(add(x, sqrt(mul(sub(x, c(1)), add(x, c(1))))));
    case 'atanh':
      return mul(c(0.5), sub(log1p(x), log1p(neg(x))));
    case 'expm1':
      return expm1(x);
    case 'log1p':
      return log1p(x);
    case 'log10':
      return div(log(x), c(Math.LN10));
    case 'erf':
      return errorFunction(to, x, false);
    case 'erfc':
      return errorFunction(to, x, true);
  }
}

const seriesTerms = 70;
const fractionTerms = 60;

/** Uses a series up to 3, and beyond it the continued fraction of the complement. */
function errorFunction<V extends TargetValue>(
  to: ArithmeticTarget<V>,
  x: V,
  complement: boolean,
): V {
  const c = (value: number) => to.constant(value, 'f64', x.shape);
  const mul = (a: V, b: V) => to.binary('multiply', a, b);
  const add = (a: V, b: V) => to.binary('add', a, b);
  const sub = (a: V, b: V) => to.binary('subtract', a, b);
  const div = (a: V, b: V) => to.binary('divide', a, b);
  const a = to.unary('abs', x);
  const bell = to.unary('exponential', to.unary('negate', mul(a, a)));
  // Σ 2ⁿ x²ⁿ⁺¹ / (2n + 1)!!
  const twice = mul(c(2), mul(x, x));
  let sum = c(1);
  for (let n = seriesTerms; n > 0; n--) sum = add(c(1), mul(div(twice, c(2 * n + 1)), sum));
  const near = mul(mul(c(2 / Math.sqrt(Math.PI)), bell), mul(x, sum));
  let tail = c(0);
  for (let n = fractionTerms; n > 0; n--) tail = div(c(n / 2), add(a, tail));
  const rest = div(div(bell, c(Math.sqrt(Math.PI))), add(a, tail));
  const isNear = to.compare('LT', a, c(3));
  const far = mul(to.unary('sign', x), sub(c(1), rest));
  const erf = to.select(isNear, near, far);
  if (!complement) return erf;
  const farComplement = to.select(to.compare('GT', x, c(0)), rest, sub(c(1), far));
  return to.select(isNear, sub(c(1), near), farComplement);
}
