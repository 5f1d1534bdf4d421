/** Functions that ONNX doesn't have, expressed by ones that it has. */

import type { UnaryName } from '../../target/target.ts';
import type { Emitter, Value } from './emitter.ts';

export function composedUnary(to: Emitter, name: UnaryName, x: Value): Value {
  const { element } = x;
  const one = to.constant(1, element);
  if (name === 'cbrt') {
    const root = to.binary('power', to.unary('abs', x), to.constant(1 / 3, element));
    return to.binary('multiply', to.unary('sign', x), root);
  }
  // Kahan: divides out the rounding error of 1 + x, or eˣ.
  if (name === 'log_plus_one') {
    const sum = to.binary('add', one, x);
    const rounded = to.binary('subtract', sum, one);
    const share = to.binary('divide', to.unary('log', sum), rounded);
    const corrected = to.binary('multiply', share, x);
    const result = to.select(to.compare('EQ', sum, one), x, corrected);
    const infinity = to.constant(Number.POSITIVE_INFINITY, element);
    return to.select(to.compare('EQ', x, infinity), x, result);
  }
  const power = to.unary('exponential', x);
  const less = to.binary('subtract', power, one);
  const share = to.binary('divide', x, to.unary('log', power));
  const own = to.select(to.compare('EQ', power, one), x, to.binary('multiply', less, share));
  const far = to.compare('GT', to.unary('abs', x), to.constant(30, element));
  return to.select(far, less, own);
}

/** The angle of the point (x, y), by ONNX's arctangent. */
export function atan2(to: Emitter, y: Value, x: Value): Value {
  const { element } = x;
  const c = (value: number) => to.constant(value, element);
  const [ax, ay] = [to.unary('abs', x), to.unary('abs', y)];
  const isZero = to.compare('EQ', to.binary('maximum', ax, ay), c(0));
  const ratio = to.select(isZero, c(0), to.binary('divide', ay, ax));
  const angle = to.op('Atan', [ratio], element, ratio.shape);
  const left = to.compare('LT', x, c(0));
  const upper = to.select(left, to.binary('subtract', c(Math.PI), angle), angle);
  return to.select(to.compare('LT', y, c(0)), to.unary('negate', upper), upper);
}
