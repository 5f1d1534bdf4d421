import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpu } from '../../runtime/device/cpu/cpu-device.ts';
import { scalarPointwise } from '../../runtime/device/cpu/scalar/pointwise.ts';
import { math } from '../../runtime/numerics/math.ts';
import { E, type Expr } from '../../runtime/ops/expr/expr.ts';
import * as F from '../../runtime/ops/expr/expr-functions.ts';
import { blank, release, run, sample } from './samples.ts';

const x = E.input(0);
const y = E.input(1);

function apply(expr: Expr, ...values: readonly (readonly number[])[]): number[] {
  const inputs = values.map((own) => sample('float32', [own.length], (i) => own[i]!));
  const output = blank('float32', [values[0]!.length]);
  const [result] = run(expr, inputs, [output]);
  release(...inputs, output);
  return result!;
}

function applyScalar(expr: Expr, values: readonly number[]): number[] {
  const input = sample('float32', [values.length], (i) => values[i]!);
  const output = blank('float32', [values.length]);
  scalarPointwise(expr, [input.meta], output.meta, {})([input.operand], [output.operand]);
  const result = [...cpu.downloadSync(output.meta, output.operand)];
  release(input, output);
  return result;
}

const ramp = (from: number, to: number, count = 20_001) =>
  Array.from({ length: count }, (_, i) => Math.fround(from + ((to - from) * i) / (count - 1)));

/** erfc by its continued fraction, erf by its series: both in double precision. */
function erfc(value: number): number {
  const a = Math.abs(value);
  if (a < 2.5) {
    let [term, sum] = [a, a];
    for (let k = 1; k < 60; k++) {
      term *= (-a * a) / k;
      sum += term / (2 * k + 1);
    }
    const own = 1 - (2 / Math.sqrt(Math.PI)) * sum;
    return value < 0 ? 2 - own : own;
  }
  let fraction = a;
  for (let k = 60; k > 0; k--) fraction = a + k / 2 / fraction;
  const own = Math.exp(-a * a) / Math.sqrt(Math.PI) / fraction;
  return value < 0 ? 2 - own : own;
}

function erf(value: number): number {
  if (Math.abs(value) > 0.5) return 1 - erfc(value);
  let [term, sum] = [value, value];
  for (let k = 1; k < 20; k++) {
    term *= (-value * value) / k;
    sum += term / (2 * k + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

interface Case {
  readonly expr: Expr;
  readonly exact: (x: number) => number;
  readonly ranges: readonly (readonly [number, number])[];
  /** Relative; 1e-6 when left out. */
  readonly error?: number;
}

const everywhere = [
  [-1e-3, 1e-3],
  [-4, 4],
  [-85, 85],
] as const;

const cases: Readonly<Record<string, Case>> = {
  sin: { expr: E.sin(x), exact: Math.sin, ranges: [...everywhere, [-12_000, 12_000]], error: 3e-7 },
  cos: { expr: E.cos(x), exact: Math.cos, ranges: [...everywhere, [-12_000, 12_000]], error: 3e-7 },
  tan: { expr: F.tan(x), exact: Math.tan, ranges: everywhere },
  asin: { expr: F.asin(x), exact: Math.asin, ranges: [[-1, 1]] },
  acos: { expr: F.acos(x), exact: Math.acos, ranges: [[-1, 0.999]] },
  atan: { expr: F.atan(x), exact: Math.atan, ranges: [...everywhere, [-1e6, 1e6]] },
  sinh: { expr: F.sinh(x), exact: Math.sinh, ranges: [...everywhere, [88, 89.3]] },
  cosh: { expr: F.cosh(x), exact: Math.cosh, ranges: [...everywhere, [88, 89.3]] },
  asinh: { expr: F.asinh(x), exact: Math.asinh, ranges: [...everywhere, [-1e6, 1e6]] },
  acosh: {
    expr: F.acosh(x),
    exact: Math.acosh,
    ranges: [
      [1, 1.1],
      [1, 10],
      [1, 1e6],
    ],
  },
  atanh: { expr: F.atanh(x), exact: Math.atanh, ranges: [[-0.9999, 0.9999]] },
  exp2: { expr: E.exp2(x), exact: (v) => 2 ** v, ranges: [[-120, 127]], error: 3e-7 },
  log2: {
    expr: E.log2(x),
    exact: Math.log2,
    ranges: [
      [1e-3, 4],
      [4, 1e6],
    ],
    error: 3e-7,
  },
  log10: {
    expr: F.log10(x),
    exact: Math.log10,
    ranges: [
      [1e-3, 4],
      [4, 1e6],
    ],
  },
  expm1: { expr: F.expm1(x), exact: Math.expm1, ranges: everywhere },
  log1p: {
    expr: F.log1p(x),
    exact: Math.log1p,
    ranges: [
      [-0.999, 1],
      [1, 1e5],
      [-1e-3, 1e-3],
    ],
  },
  erf: {
    expr: F.erf(x),
    exact: erf,
    ranges: [
      [-5, 5],
      [-1e-3, 1e-3],
    ],
  },
  erfc: { expr: F.erfc(x), exact: erfc, ranges: [[-5, 4]], error: 2e-6 },
  'normal distribution': {
    expr: F.normalCdf(x, E.exp(E.mul(E.const(-0.5), E.mul(x, x)))),
    exact: (value) => erfc(-value * Math.SQRT1_2) / 2,
    ranges: [
      [-6, 6],
      [-1e-3, 1e-3],
    ],
    error: 3e-6,
  },
};

describe('functions of one number', () => {
  for (const [name, { expr, exact, ranges, error = 1e-6 }] of Object.entries(cases)) {
    it(`${name} has a relative error below ${error}`, () => {
      for (const [from, to] of ranges) {
        const inputs = ramp(from, to).filter((value) => value !== 0);
        for (const results of [apply(expr, inputs), applyScalar(expr, inputs)]) {
          let worst = { value: 0, error: 0 };
          results.forEach((result, i) => {
            const expected = exact(inputs[i]!);
            const own = Math.abs(result - expected) / Math.max(Math.abs(expected), 1e-37);
            if (!(own <= worst.error)) worst = { value: inputs[i]!, error: own };
          });
          expect(worst.error, `at ${worst.value}`).toBeLessThan(error);
        }
      }
    });
  }

  const specials: Readonly<Record<string, readonly [Expr, (x: number) => number]>> = {
    sin: [E.sin(x), Math.sin],
    cos: [E.cos(x), Math.cos],
    tan: [F.tan(x), Math.tan],
    asin: [F.asin(x), Math.asin],
    acos: [F.acos(x), (v) => Math.fround(Math.acos(v))],
    atan: [F.atan(x), (v) => Math.fround(Math.atan(v))],
    sinh: [F.sinh(x), Math.sinh],
    cosh: [F.cosh(x), Math.cosh],
    asinh: [F.asinh(x), Math.asinh],
    acosh: [F.acosh(x), Math.acosh],
    atanh: [F.atanh(x), Math.atanh],
    exp2: [E.exp2(x), (v) => 2 ** v],
    log2: [E.log2(x), Math.log2],
    expm1: [F.expm1(x), Math.expm1],
    log1p: [F.log1p(x), Math.log1p],
    ceil: [E.ceil(x), Math.ceil],
    trunc: [E.trunc(x), Math.trunc],
    floor: [E.floor(x), Math.floor],
    sign: [F.sign(x), Math.sign],
  };
  for (const [name, [expr, exact]] of Object.entries(specials)) {
    it(`${name} of zeros, infinities and NaN is JavaScript's`, () => {
      const ends = [0, -0, Infinity, -Infinity, NaN];
      expect(apply(expr, ends)).toEqual(ends.map(exact));
      expect(applyScalar(expr, ends)).toEqual(ends.map(exact));
    });
  }

  it('asin, acos, acosh and atanh are NaN outside their domain', () => {
    for (const expr of [F.asin(x), F.acos(x), F.atanh(x)]) {
      expect(apply(expr, [1.5, -1.5, 100])).toEqual([NaN, NaN, NaN]);
    }
    expect(apply(F.acosh(x), [0.99, -1, -100])).toEqual([NaN, NaN, NaN]);
    expect(apply(F.atanh(x), [1, -1])).toEqual([Infinity, -Infinity]);
  });

  it('sines of large numbers are those of JavaScript', () => {
    // The small one shares their vector.
    const large = [1e5, -3e6, 1e20, 1];
    const sines = large.map((v) => Math.fround(Math.sin(Math.fround(v))));
    const found = apply(E.sin(x), large);
    expect(found.slice(0, 3)).toEqual(sines.slice(0, 3));
    expect(found[3]).toBeCloseTo(sines[3]!, 6);
  });

  it('log2 and exp2 of powers of two are exact', () => {
    const exponents = [-126, -10, -1, 0, 1, 5, 23, 127];
    expect(apply(E.exp2(x), exponents)).toEqual(exponents.map((v) => 2 ** v));
    expect(
      apply(
        E.log2(x),
        exponents.map((v) => 2 ** v),
      ),
    ).toEqual(exponents);
  });

  it('erf and erfc end at 1, 2 and 0', () => {
    expect(apply(F.erf(x), [Infinity, -Infinity, 9, -9, NaN])).toEqual([1, -1, 1, -1, NaN]);
    expect(apply(F.erfc(x), [Infinity, -Infinity, 20, -20, NaN])).toEqual([0, 2, 0, 2, NaN]);
    expect(apply(F.erf(x), [0, -0])).toEqual([0, -0]);
  });

  it('round takes halves to the even neighbour', () => {
    const values = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4999998, 1e9, 8388609, -3.7];
    const rounded = [-2, -2, -0, 0, 2, 2, 2, 1e9, 8388609, -4];
    expect(apply(E.round(x), values)).toEqual(rounded);
    expect(applyScalar(E.round(x), values)).toEqual(rounded);
  });
});

describe('functions of two numbers', () => {
  const numbers = [0, -0, 1, -1, 0.5, -2.5, 7, Infinity, -Infinity, NaN];
  const left = numbers.flatMap((a) => numbers.map(() => a));
  const right = numbers.flatMap(() => numbers);

  it('atan2 knows all quadrants and zeros', () => {
    const results = apply(F.atan2(x, y), left, right);
    left.forEach((a, i) => {
      const expected = Math.atan2(a, right[i]!);
      const what = `atan2(${a}, ${right[i]})`;
      if (expected === 0) expect(results[i], what).toBe(expected);
      else if (Number.isNaN(expected)) expect(results[i], what).toBe(NaN);
      else expect(results[i], what).toBeCloseTo(expected, 5);
    });
  });

  it('rem is exact, whatever the quotient', () => {
    const results = apply(E.rem(x, y), [...left, 1e20, 5.9999995], [...right, 3, 1]);
    const expected = left.map((a, i) => a % right[i]!);
    expect(results).toEqual([
      ...expected,
      Math.fround(1e20) % 3,
      Math.fround(Math.fround(5.9999995) % 1),
    ]);
  });

  it('rem of any numbers is exact, and pow is rounded like that of JavaScript', () => {
    const floats = fc.array(
      fc.oneof(
        fc.float(),
        fc.float({ min: -100, max: 100 }),
        fc.constantFrom(0, -0, 1, 1.5, 3, 4, Infinity, -Infinity, NaN),
        // Their cubes are in the middle between two float32.
        fc.constantFrom(259, 261, 259 ** 2),
      ),
      { minLength: 9, maxLength: 9 },
    );
    const cube = (x: number, y: number) => (y === 3 ? x * x * x : math.pow(x, y));
    fc.assert(
      fc.property(floats, floats, (a, b) => {
        const expected = (fn: (x: number, y: number) => number) =>
          a.map((each, i) => Math.fround(fn(each, b[i]!)));
        expect(apply(E.rem(x, y), a, b)).toEqual(expected((each, by) => each % by));
        expect(apply(E.pow(x, y), a, b)).toEqual(expected(cube));
      }),
      { numRuns: 500 },
    );
  });

  it('pow is that of C at 1 and at infinite exponents', () => {
    const results = apply(
      E.pow(x, y),
      [1, 1, -1, -1, 2, NaN],
      [NaN, Infinity, -Infinity, Infinity, -Infinity, 0],
    );
    expect(results).toEqual([1, 1, 1, 1, 0, 1]);
  });
});
