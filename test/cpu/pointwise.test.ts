import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpu } from '../../runtime/device/cpu/cpu-device.ts';
import { scalarPointwise } from '../../runtime/device/cpu/scalar/pointwise.ts';
import { compilePointwise } from '../../runtime/device/cpu/wasm/pointwise-kernel.ts';
import { math } from '../../runtime/numerics/math.ts';
import { E, type Expr } from '../../runtime/ops/expr/expr.ts';
import { textOf } from '../../runtime/ops/expr/expr-nodes.ts';
import { type DType, dtypes } from '../../runtime/spec/dtype.ts';
import { encodeHalf } from '../../runtime/spec/half.ts';
import { blank, layouts, noise, release, run, type Sample, sample, shapes } from './samples.ts';

const [x, y, z] = [E.input(0), E.input(1), E.input(2)];

/** JavaScript doesn't keep the sign of a NaN, which the bits of a half show. */
function withoutSignOfNaN(values: readonly number[], dtype: DType): readonly number[] {
  const infinity = dtype === 'float16' ? 0x7c00 : dtype === 'bfloat16' ? 0x7f80 : null;
  if (infinity === null) return values;
  return values.map((bits) => ((bits & 0x7fff) > infinity ? Number.NaN : bits));
}

/** What the closure interpreter gives: the oracle. */
function runScalar(expr: Expr, inputs: readonly Sample[], output: Sample, attrs = {}): number[] {
  scalarPointwise(
    expr,
    inputs.map(({ meta }) => meta),
    output.meta,
    attrs,
  )(
    inputs.map(({ operand }) => operand),
    [output.operand],
  );
  return [...cpu.downloadSync(output.meta, output.operand)];
}

function apply(expr: Expr, values: readonly number[], attrs = {}): number[] {
  return applyTo(expr, [values], attrs);
}

function applyTo(expr: Expr, operands: readonly (readonly number[])[], attrs = {}): number[] {
  const shape = [operands[0]!.length];
  const inputs = operands.map((values) => sample('float32', shape, (i) => values[i]!));
  const output = blank('float32', shape);
  const [result] = run(expr, inputs, [output], attrs);
  release(...inputs, output);
  return result!;
}

const specials = [
  0,
  -0,
  1,
  -1,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  1e-40,
  -1e-40,
  3.4e38,
  -3.4e38,
];

function relativeError(expr: Expr, exact: (x: number) => number, inputs: readonly number[]) {
  const rounded = inputs.map(Math.fround);
  const results = apply(expr, rounded);
  return Math.max(
    ...rounded.map((value, i) => {
      const expected = exact(value);
      return Math.abs(results[i]! - expected) / Math.max(Math.abs(expected), 1e-37);
    }),
  );
}

const ramp = (from: number, to: number, count: number) =>
  Array.from({ length: count }, (_, i) => from + ((to - from) * i) / (count - 1));

describe('transcendental functions', () => {
  it('exp is within 2e-7 and right at the ends', () => {
    expect(relativeError(E.exp(x), Math.exp, ramp(-87, 88.7, 40_001))).toBeLessThan(2e-7);
    const ends = [88.8, 1000, -104, -1000, ...specials];
    expect(apply(E.exp(x), ends)).toEqual(ends.map((v) => Math.fround(Math.exp(v))));
    const subnormal = apply(E.exp(x), [-88, -95, -103])[1]!;
    expect(Math.abs(subnormal - Math.exp(-95))).toBeLessThan(3e-45);
  });

  it('log is within 2e-7 and right at the ends', () => {
    const inputs = [...ramp(1e-3, 4, 20_001), ...ramp(4, 1e6, 5001), 1e-38, 1e-42, 1e38];
    expect(relativeError(E.log(x), Math.log, inputs)).toBeLessThan(2e-7);
    const ends = [0, -0, -1, -1e-42, 1, Number.NaN, Number.POSITIVE_INFINITY, -1 / 0];
    expect(apply(E.log(x), ends)).toEqual(ends.map((v) => Math.log(v)));
  });

  it('tanh is within 3.5e-7 and right at the ends', () => {
    const inputs = [...ramp(-10, 10, 40_001), ...ramp(-1e-3, 1e-3, 101)];
    expect(relativeError(E.tanh(x), Math.tanh, inputs.filter(Boolean))).toBeLessThan(3.5e-7);
    const ends = [0, -0, 50, -50, 1 / 0, -1 / 0, Number.NaN];
    expect(apply(E.tanh(x), ends)).toEqual(ends.map((v) => Math.tanh(v)));
  });

  it('sqrt, floor, abs and neg agree with JavaScript on special values', () => {
    expect(apply(E.sqrt(x), specials)).toEqual(
      specials.map((v) => Math.fround(Math.sqrt(Math.fround(v)))),
    );
    expect(apply(E.floor(x), specials)).toEqual(specials.map((v) => Math.floor(Math.fround(v))));
    expect(apply(E.abs(x), specials)).toEqual(specials.map((v) => Math.fround(Math.abs(v))));
    expect(apply(E.neg(x), specials)).toEqual(specials.map((v) => Math.fround(-v)));
  });

  it('pow agrees with JavaScript, squares included', () => {
    const values = [-2, -0.5, 0, 0.3, 1.7, 9];
    for (const exponent of [2, 3, 0.5, -1, 0]) {
      expect(apply(E.pow(x, E.attr('value')), values, { value: exponent })).toEqual(
        values.map((v) => Math.fround(Math.fround(v) ** exponent)),
      );
    }
  });

  it('usual powers have the bits of float64, rounded, wherever the exponent comes from', () => {
    const bits = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
    const single = bits.map((word) => new Float32Array(Int32Array.of(word).buffer)[0]!);
    const values = fc.array(fc.oneof(single, fc.float(), fc.constantFrom(...specials)), {
      minLength: 4,
      maxLength: 23,
    });
    const powers: readonly (readonly [number, (x: number) => number])[] = [
      ...[1, 2, -1, 0.5].map((y) => [y, (x: number) => math.pow(x, y)] as const),
      [3, (x) => x * x * x],
    ];
    fc.assert(
      fc.property(values, fc.constantFrom(...powers), (given, [exponent, power]) => {
        const expected = given.map((v) => Math.fround(power(Math.fround(v))));
        const mixed = expected.map((v, i) => (i % 3 === 1 ? 1 : v));
        expect(apply(E.pow(x, E.attr('value')), given, { value: exponent })).toEqual(expected);
        // Other exponents beside it: JavaScript's function for each.
        const exponents = given.map((_, i) => (i % 3 === 1 ? 0 : exponent));
        expect(applyTo(E.pow(x, y), [given, exponents])).toEqual(mixed);
      }),
      { numRuns: 400 },
    );
  });

  it('max propagates NaN, so relu does', () => {
    const values = [Number.NaN, -1, 2, -0, 1 / 0];
    expect(apply(E.max(x, E.const(0)), values)).toEqual([Number.NaN, 0, 2, 0, 1 / 0]);
  });
});

const dtype = fc.constantFrom<DType>(...(Object.keys(dtypes) as DType[]));
const constant = fc.constantFrom(-2, -1, 0, 0.5, 1, 3, 1e9).map(E.const);

const expressions = fc.letrec<{ node: Expr }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(fc.constantFrom(x, y, z), fc.constantFrom(x, y, z), constant),
    fc
      .tuple(fc.constantFrom('neg', 'abs', 'sqrt', 'floor', 'toInt'), tie('node'))
      .map(([fn, a]) => E[fn](a)),
    fc
      .tuple(fc.constantFrom('add', 'sub', 'mul', 'div', 'max', 'min'), tie('node'), tie('node'))
      .map(([fn, a, b]) => E[fn](a, b)),
    fc
      .tuple(fc.constantFrom('eq', 'ne', 'lt', 'le', 'gt', 'ge'), tie('node'), tie('node'))
      .map(([fn, a, b]) => E[fn](a, b)),
    fc.tuple(tie('node'), tie('node'), tie('node')).map(([a, b, c]) => E.select(E.gt(a, b), b, c)),
  ),
})).node;

function valuesFor(kind: DType, seed: number): (i: number) => number {
  const random = noise(seed);
  if (kind === 'float32' || kind === 'float64') return (i) => (i % 11 === 5 ? 0 : random(i));
  if (kind === 'uint8') return (i) => Math.trunc(random(i) * 100 + 128);
  if (kind === 'float16' || kind === 'bfloat16') return (i) => encodeHalf([random(i)], kind)[0]!;
  if (kind === 'int32') return (i) => Math.trunc(random(i) * 5);
  return (i) => Number(random(i) > 0);
}

describe('generated kernels', () => {
  it('give the same bits as the closures for any expression, dtypes and layouts', () => {
    const cases = shapes.chain((shape) => {
      // An operand may miss leading dimensions, and repeat any of the others.
      const operand = fc
        .record({ skip: fc.nat(shape.length), ones: fc.array(fc.boolean(), { maxLength: 4 }) })
        .map(({ skip, ones }) => shape.slice(skip).map((dim, d) => (ones[d] ? 1 : dim)))
        .chain((own) => fc.record({ shape: fc.constant(own), layout: layouts(own), dtype }));
      return fc.record({
        expr: expressions,
        shape: fc.constant(shape),
        inputs: fc.tuple(operand, operand, operand),
        output: fc.record({ dtype, layout: layouts(shape) }),
      });
    });
    fc.assert(
      fc.property(cases, ({ expr, shape, inputs, output }) => {
        const samples = inputs.map((input, k) =>
          sample(input.dtype, input.shape, valuesFor(input.dtype, k), input.layout),
        );
        const target = () => sample(output.dtype, shape, () => 9, output.layout);
        const [expected, actual] = [target(), target()];
        const oracle = runScalar(expr, samples, expected);
        const [result] = run(expr, samples, [actual]);
        release(expected, actual, ...samples);
        expect(withoutSignOfNaN(result!, output.dtype)).toEqual(
          withoutSignOfNaN(oracle, output.dtype),
        );
      }),
      { numRuns: 400 },
    );
  });

  it('write only their elements', () => {
    const layout = { strides: [3], offset: 2, span: 20 };
    const target = sample('float32', [6], () => 0, layout);
    run(E.const(5), [], [target]);
    const whole = { ...target.meta, shape: [20], strides: [1], offset: 0 };
    const memory = [...cpu.downloadSync(whole, { ...target.operand, offset: 0 })];
    const expected = Array.from({ length: 20 }, (_, i) =>
      i >= 2 && i <= 17 && i % 3 === 2 ? 5 : 77,
    );
    expect(memory).toEqual(expected);
    release(target);
  });

  it('work in place', () => {
    const target = sample('float32', [3, 7], noise(1));
    const other = sample('float32', [7], noise(2));
    const [result] = run(E.add(x, E.mul(y, E.attr('value'))), [target, other], [target], {
      value: -0.1,
    });
    const expected = target.values.map((v, i) =>
      Math.fround(v + Math.fround(other.values[i % 7]! * Math.fround(-0.1))),
    );
    expect(result).toEqual(expected);
    release(target, other);
  });

  it('take attributes as float32 and as int32', () => {
    const floats = sample('float32', [5], (i) => i / 2);
    const ints = sample('int32', [5], (i) => i);
    const outFloat = blank('float32', [5]);
    const outInt = blank('int32', [5]);
    const expr = E.mul(x, E.attr('value'));
    expect(run(expr, [floats], [outFloat], { value: 0.5 })).toEqual([[0, 0.25, 0.5, 0.75, 1]]);
    expect(run(expr, [ints], [outInt], { value: -3 })).toEqual([[-0 + 0, -3, -6, -9, -12]]);
    release(floats, ints, outFloat, outInt);
  });

  it('read each attribute only in the forms that they compute with', () => {
    const forms = (expr: Expr, dtype: DType) => {
      const walks = ['contiguous', 'contiguous'] as const;
      const { attrs } = compilePointwise({ expr, dtypes: [dtype, dtype], walks });
      return attrs.map(({ name, form }) => `${name} ${form}`);
    };
    const expr = E.add(E.mul(x, E.attr('by')), E.mul(E.attr('more'), E.attr('by')));
    expect(forms(expr, 'float32')).toEqual(['by f32', 'more f32']);
    expect(forms(expr, 'int32')).toEqual(['by i32', 'more i32']);
    expect(forms(expr, 'float64')).toEqual(['by f64', 'more f64']);
  });

  it('tell signatures apart that differ in operands nobody reads', () => {
    const target = blank('float32', [6]);
    const unread = sample('float32', [6], noise(1));
    for (const inputs of [[], [unread], [unread, unread], []]) {
      expect(run(E.attr('value'), inputs, [target], { value: 3 })).toEqual([[3, 3, 3, 3, 3, 3]]);
    }
    release(target, unread);
  });

  it('compute a node that occurs twice once, with the same result', () => {
    const shared = E.exp(E.mul(x, x));
    const once = apply(E.add(shared, shared), [0.5, 1, 1.5, 2, 2.5]);
    const apart = apply(E.add(E.exp(E.mul(x, x)), E.exp(E.mul(x, x))), [0.5, 1, 1.5, 2, 2.5]);
    expect(once).toEqual(apart);
  });
});

describe('expressions that are graphs', () => {
  it('take time by nodes, not by paths', () => {
    let doubled: Expr = E.mul(x, E.const(2 ** -60));
    for (let i = 0; i < 60; i++) doubled = E.add(doubled, doubled);
    expect(apply(doubled, [1, 2, 3, 4, 5])).toEqual([1, 2, 3, 4, 5]);
  });

  it('share a kernel when they are equal, and only then', () => {
    const text = (value: number) => textOf(E.add(E.mul(x, y), E.const(value)));
    expect(text(1)).toBe(text(1));
    const values = [0, -0, 1, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    expect(new Set(values.map(text)).size).toBe(values.length);
    expect(textOf(E.sub(x, y))).not.toBe(textOf(E.sub(y, x)));
    expect(textOf(E.sub(x, E.neg(x)))).not.toBe(textOf(E.sub(E.neg(x), x)));
  });
});

describe('copies', () => {
  it('copy, copyInto and narrowGrad move elements of any dtype and layout', () => {
    const cases = shapes.chain((shape) =>
      fc.record({ shape: fc.constant(shape), dtype, from: layouts(shape), to: layouts(shape) }),
    );
    fc.assert(
      fc.property(cases, ({ shape, dtype, from, to }) => {
        const source = sample(dtype, shape, valuesFor(dtype, 1), from);
        const contiguous = blank(dtype, shape);
        const strided = sample(dtype, shape, () => 3, to);
        expect(run('copy', [source], [contiguous])).toEqual([source.values]);
        expect(run('copyInto', [strided, source], [strided])).toEqual([source.values]);
        release(source, contiguous, strided);
      }),
      { numRuns: 100 },
    );
  });

  it('copy transposes planes of any size', () => {
    const sizes = fc.tuple(...[3, 40, 40].map((max) => fc.integer({ min: 1, max })));
    const orders = fc.constantFrom([0, 2, 1], [2, 1, 0], [1, 2, 0], [1, 0, 2]);
    fc.assert(
      fc.property(sizes as fc.Arbitrary<number[]>, orders, (shape, order) => {
        const strides = new Array<number>(3);
        let stride = 1;
        for (const d of order) {
          strides[d] = stride;
          stride *= shape[d]!;
        }
        const source = sample('int32', shape, (i) => i, { strides, offset: 0, span: stride });
        const target = blank('int32', shape);
        expect(run('copy', [source], [target])).toEqual([source.values]);
        release(source, target);
      }),
      { numRuns: 60 },
    );
  });

  it('narrowGrad puts the gradient among zeros', () => {
    const dy = sample('float32', [2, 2, 3], (i) => i + 1);
    const whole = sample('float32', [2, 4, 3], () => 5);
    const [result] = run('narrowGrad', [dy, whole], [whole], { dim: 1, start: 1 });
    const expected = [0, 0, 0, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0, 7, 8, 9, 10, 11, 12, 0, 0, 0];
    expect(result).toEqual(expected);
    release(dy, whole);
  });

  it('fill writes every dtype', () => {
    const targets = (['float32', 'int32', 'bool'] as const).map((kind) => blank(kind, [3]));
    const [float, int, bool] = targets as [Sample, Sample, Sample];
    expect(run('fill', [], [float], { value: 0.1 })).toEqual([
      [0, 0, 0].map(() => Math.fround(0.1)),
    ]);
    expect(run('fill', [], [int], { value: -7 })).toEqual([[-7, -7, -7]]);
    expect(run('fill', [], [bool], { value: 2 })).toEqual([[1, 1, 1]]);
    release(...targets);
  });
});
