import { InvariantError } from '../../../errors/invariant.ts';
import { math } from '../../../numerics/math.ts';
import type { BinaryFn, CompareFn, Expr, UnaryFn } from '../../../ops/expr/expr.ts';
import { inPrecision, isDouble } from '../../../ops/expr/expr-precision.ts';
import {
  type Arithmetic,
  arithmeticOfDType,
  arithmetics,
  comparedIn,
} from '../../../ops/expr/expr-type.ts';
import type { DType, TypedArray } from '../../../spec/dtype.ts';
import { halfFormats, isHalf } from '../../../spec/half.ts';
import { broadcastStrides } from '../../../spec/shape.ts';
import type { Launch } from '../../device.ts';
import type { Attrs } from '../../kernel-op.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { doubleFunctions } from '../core/double-functions.ts';
import { heap } from '../core/heap.ts';
import { imported } from '../core/imported.ts';
import { indexOf } from '../core/kernel.ts';
import { collapse, walk } from '../core/loops.ts';

/**
 * Scalar functions as nested closures: slow but simple. They are the oracle of the generated kernels and the fallback
 * without WebAssembly SIMD. Each float32 node is rounded separately; float64 is JavaScript's arithmetic.
 */

/** The current element of one operand. */
export interface ScalarCursor {
  readonly dtype: DType;
  view: TypedArray;
  at: number;
}

type Evaluate = () => number;

const { fround } = Math;

/** Truncates; saturates and maps NaN to 0, like WebAssembly's conversion. */
export function toInt32(x: number): number {
  return Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, x)) | 0;
}

function roundHalfEven(x: number): number {
  const rounded = Math.round(x);
  // Math.round rounds half up.
  return rounded - x === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded;
}

const floatUnary: { readonly [F in UnaryFn]: (x: number) => number } = {
  neg: (x) => -x,
  abs: Math.abs,
  exp: (x) => math.exp(x),
  log: (x) => math.log(x),
  sqrt: Math.sqrt,
  tanh: (x) => math.tanh(x),
  sin: (x) => math.sin(x),
  cos: (x) => math.cos(x),
  exp2: (x) => math.exp2(x),
  log2: (x) => math.log2(x),
  floor: Math.floor,
  ceil: Math.ceil,
  trunc: Math.trunc,
  round: roundHalfEven,
  toInt: toInt32,
};

const intUnary: Partial<Record<UnaryFn, (x: number) => number>> = {
  neg: (x) => -x | 0,
  abs: (x) => Math.abs(x) | 0,
  floor: (x) => x,
  ceil: (x) => x,
  trunc: (x) => x,
  round: (x) => x,
};

const floatBinary: { readonly [F in BinaryFn]: (x: number, y: number) => number } = {
  add: (x, y) => x + y,
  sub: (x, y) => x - y,
  mul: (x, y) => x * y,
  div: (x, y) => x / y,
  max: Math.max,
  min: Math.min,
  pow: imported.pow,
  rem: imported.rem,
  quotient: (x, y) => Math.trunc(x / y),
};

const intBinary: Partial<Record<BinaryFn, (x: number, y: number) => number>> = {
  add: (x, y) => (x + y) | 0,
  sub: (x, y) => (x - y) | 0,
  mul: Math.imul,
  max: Math.max,
  min: Math.min,
  pow: imported.intPow,
  rem: imported.intRem,
  quotient: imported.intQuotient,
};

export const comparisons: { readonly [F in CompareFn]: (x: number, y: number) => boolean } = {
  eq: (x, y) => x === y,
  ne: (x, y) => x !== y,
  lt: (x, y) => x < y,
  le: (x, y) => x <= y,
  gt: (x, y) => x > y,
  ge: (x, y) => x >= y,
};

class ClosureBuilder {
  readonly #arithmetics: ReadonlyMap<Expr, Arithmetic>;
  readonly #cursors: readonly ScalarCursor[];
  readonly #attrs: Attrs;

  constructor(
    root: Expr,
    dtypes: readonly DType[],
    cursors: readonly ScalarCursor[],
    attrs: Attrs,
  ) {
    this.#arithmetics = arithmetics(root, dtypes);
    this.#cursors = cursors;
    this.#attrs = attrs;
  }

  arithmetic(expr: Expr): Arithmetic {
    return this.#arithmetics.get(expr)!;
  }

  /** `target` converts: f32 rounds, i32 truncates. */
  build(expr: Expr, target: Arithmetic): Evaluate {
    const own = this.arithmetic(expr);
    const computed =
      own === 'literal' ? target : own === 'fraction' ? (target === 'f64' ? 'f64' : 'f32') : own;
    const evaluate = this.#node(expr, computed);
    if (computed === target || target === 'literal' || target === 'f64') return evaluate;
    return target === 'f32' ? () => fround(evaluate()) : () => toInt32(evaluate());
  }

  #node(expr: Expr, computed: Arithmetic): Evaluate {
    switch (expr.kind) {
      case 'input': {
        const cursor = this.#cursors[expr.index]!;
        if (isHalf(cursor.dtype)) {
          const { decode } = halfFormats[cursor.dtype];
          return () => decode(cursor.view[cursor.at]!);
        }
        return () => cursor.view[cursor.at]!;
      }
      case 'const':
        return this.#number(expr.value, computed);
      case 'attr':
        return this.#number(this.#attrs[expr.name] as number, computed);
      case 'unary':
        return this.#unary(expr.fn, expr.x, computed);
      case 'binary':
        return this.#binary(expr.fn, expr.x, expr.y, computed);
      case 'compare': {
        const common = comparedIn(this.arithmetic(expr.x), this.arithmetic(expr.y));
        const x = this.build(expr.x, common);
        const y = this.build(expr.y, common);
        const test = comparisons[expr.fn];
        return () => (test(x(), y()) ? 1 : 0);
      }
      case 'select': {
        const test = this.build(expr.test, 'literal');
        const then = this.build(expr.then, computed);
        const otherwise = this.build(expr.otherwise, computed);
        return () => (test() !== 0 ? then() : otherwise());
      }
      case 'double': {
        const [x, y] = expr.operands.map((operand) => this.build(operand, 'f64'));
        const fn = doubleFunctions()[expr.fn];
        return () => fn(x!(), y ? y() : 0);
      }
      case 'precision':
        throw new InvariantError('an expression whose precision was not chosen');
    }
  }

  #number(value: number, computed: Arithmetic): Evaluate {
    const rounded =
      computed === 'f64' ? value : computed === 'i32' ? toInt32(value) : fround(value);
    return () => rounded;
  }

  #unary(fn: UnaryFn, operand: Expr, computed: Arithmetic): Evaluate {
    const int = computed === 'i32' && fn !== 'toInt' ? intUnary[fn] : undefined;
    if (int) {
      const x = this.build(operand, 'i32');
      return () => int(x());
    }
    if (fn === 'toInt') return this.build(operand, 'i32');
    const float = floatUnary[fn];
    const x = this.build(operand, computed === 'f64' ? 'f64' : 'f32');
    return computed === 'f64' ? () => float(x()) : () => fround(float(x()));
  }

  #binary(fn: BinaryFn, left: Expr, right: Expr, computed: Arithmetic): Evaluate {
    const int = computed === 'i32' ? intBinary[fn] : undefined;
    const operands = int ? 'i32' : computed === 'f64' ? 'f64' : 'f32';
    const x = this.build(left, operands);
    const y = this.build(right, operands);
    if (int) return () => int(x(), y());
    if (computed === 'f64') {
      const double = fn === 'pow' ? math.pow : floatBinary[fn];
      return () => double(x(), y());
    }
    const float = floatBinary[fn];
    return () => fround(float(x(), y()));
  }
}

/** Returns the value of an expression at the cursors, as an array of `output` stores it. */
export function elementOf(
  generic: Expr,
  cursors: readonly ScalarCursor[],
  output: DType,
  attrs: Attrs,
): () => number {
  const dtypes = cursors.map(({ dtype }) => dtype);
  const expr = inPrecision(generic, isDouble([...dtypes, output]) ? 'double' : 'single');
  const builder = new ClosureBuilder(expr, dtypes, cursors, attrs);
  const natural = builder.arithmetic(expr);
  // A bool tests for 0 before anything is truncated.
  const arithmetic = natural === 'f64' ? 'f64' : natural === 'i32' ? 'i32' : 'f32';
  const evaluate = builder.build(expr, output === 'bool' ? arithmetic : arithmeticOfDType[output]);
  if (output === 'bool') return () => Number(evaluate() !== 0);
  // A uint8 wraps when it is stored.
  if (!isHalf(output)) return evaluate;
  const { encode } = halfFormats[output];
  return () => encode(evaluate());
}

/** Runs `expr` for every element of the output. */
export function scalarPointwise(
  expr: Expr,
  inputs: readonly TensorMeta[],
  output: TensorMeta,
  attrs: Attrs,
): Launch {
  const cursors = inputs.map(({ dtype }): ScalarCursor => ({ dtype, view: heap.u8, at: 0 }));
  const element = elementOf(expr, cursors, output.dtype, attrs);
  const loops = collapse(output.shape, [
    output.strides,
    ...inputs.map((input) => broadcastStrides(input.shape, input.strides, output.shape)),
  ]);
  return (sources, targets) => {
    const target = heap.view(output.dtype);
    const at = [indexOf(targets[0]!, output.dtype)];
    cursors.forEach((cursor, i) => {
      cursor.view = heap.view(cursor.dtype);
      at.push(indexOf(sources[i]!, cursor.dtype));
    });
    walk(loops, at, () => {
      for (let i = 0; i < cursors.length; i++) cursors[i]!.at = at[i + 1]!;
      target[at[0]!] = element();
    });
  };
}
