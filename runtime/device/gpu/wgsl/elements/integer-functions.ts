/** int32 in WGSL: the functions of runtime/device/cpu/core/imported.ts, and conversions as in WebAssembly. */
import type { BinaryFn, UnaryFn } from '../../../../ops/expr/expr.ts';
import { toInt32 } from '../../../cpu/scalar/pointwise.ts';

/** Returns an i32 literal of the number, truncated and saturated. */
export function intText(value: number): string {
  const whole = toInt32(value);
  // WGSL negates a positive literal, and 2^31 is not an i32.
  if (whole === -(2 ** 31)) return 'i32(-2147483648)';
  return whole < 0 ? `(${whole}i)` : `${whole}i`;
}

const same = (x: string): string => x;

/** Functions whose result is int32 for int32. */
export const intUnaryText: { readonly [F in UnaryFn]?: (x: string) => string } = {
  neg: (x) => `(-${x})`,
  abs: (x) => `abs(${x})`,
  floor: same,
  ceil: same,
  trunc: same,
  round: same,
};

export const intBinaryText: { readonly [F in BinaryFn]?: (x: string, y: string) => string } = {
  add: (x, y) => `(${x} + ${y})`,
  sub: (x, y) => `(${x} - ${y})`,
  mul: (x, y) => `(${x} * ${y})`,
  max: (x, y) => `max(${x}, ${y})`,
  min: (x, y) => `min(${x}, ${y})`,
  pow: (x, y) => `f_int_pow(${x}, ${y})`,
  rem: (x, y) => `f_int_rem(${x}, ${y})`,
  quotient: (x, y) => `f_int_quotient(${x}, ${y})`,
};

/** Functions by name. */
export const integerFunctions: ReadonlyMap<string, string> = new Map(
  Object.entries({
    // Drivers disagree on out-of-range results.
    f_to_int: `(x : f32) -> i32 {
  if (!f_is_number(x)) { return 0i; }
  let isInside = x > -2147483648.0f && x < 2147483648.0f;
  let inside = i32(select(0.0f, x, isInside));
  let upper = select(inside, 2147483647i, x >= 2147483648.0f);
  return select(upper, i32(-2147483648), x <= -2147483648.0f);
}`,
    // Divisors with possibly undefined results are replaced by 1.
    f_int_quotient: `(x : i32, y : i32) -> i32 {
  if (y == -1i) { return -x; }
  return select(x / select(y, 1i, y == 0i), 0i, y == 0i);
}`,
    // Not the driver's remainder, which may be undefined for negative numbers.
    f_int_rem: `(x : i32, y : i32) -> i32 {
  let divisor = select(y, 1i, y == 0i || y == -1i);
  return x - (x / divisor) * divisor;
}`,
    f_int_pow: `(x : i32, y : i32) -> i32 {
  if (y < 0i) {
    let sign = select(1i, -1i, (y & 1i) != 0i && x == -1i);
    return select(0i, sign, x == 1i || x == -1i);
  }
  var power = 1i;
  var square = x;
  for (var rest = y; rest > 0i; rest = rest >> 1u) {
    if ((rest & 1i) != 0i) { power = power * square; }
    square = square * square;
  }
  return power;
}`,
    // Order-preserving map from i32 to u32.
    f_int_order_key: '(x : i32) -> u32 { return bitcast<u32>(x) ^ 0x80000000u; }',
  }).map(([name, source]) => [name, `fn ${name}${source}`]),
);
