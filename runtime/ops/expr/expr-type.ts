import type { DType } from '../../spec/dtype.ts';
import { type BinaryFn, E, type Expr, type UnaryFn } from './expr.ts';
import { nodesOf } from './expr-nodes.ts';

/**
 * The arithmetic of a node. A result of dtype uint8, float16 or bfloat16 is rounded when stored, so a fusion must round
 * between ops. `literal` and `fraction` are numbers that adopt their partner's arithmetic; a `fraction` only that of
 * floating-point. bool operands and comparisons are i32, 0 or 1.
 */
export type Arithmetic = 'f32' | 'f64' | 'i32' | 'literal' | 'fraction';

/** Functions of real numbers turn integers into float32. */
const real = (x: Arithmetic): Arithmetic =>
  x === 'f64' ? 'f64' : x === 'literal' || x === 'fraction' ? 'fraction' : 'f32';
const same = (x: Arithmetic): Arithmetic => x;

const unaryResult: { readonly [F in UnaryFn]: (x: Arithmetic) => Arithmetic } = {
  neg: same,
  abs: same,
  floor: same,
  ceil: same,
  trunc: same,
  round: same,
  exp: real,
  exp2: real,
  log2: real,
  sin: real,
  cos: real,
  log: real,
  sqrt: real,
  tanh: real,
  toInt: () => 'i32',
};

const binaryResult: { readonly [F in BinaryFn]: (x: Arithmetic, y: Arithmetic) => Arithmetic } = {
  add: joined,
  sub: joined,
  mul: joined,
  max: joined,
  min: joined,
  div: (x, y) => real(joined(x, y)),
  pow: joined,
  rem: joined,
  quotient: joined,
};

/** Returns the arithmetic of a node with two operands: the later one of int32, float32, float64. */
function joined(x: Arithmetic, y: Arithmetic): Arithmetic {
  if (x === 'literal') return y;
  if (y === 'literal') return x;
  if (x === 'f64' || y === 'f64') return 'f64';
  if (x === y) return x;
  return 'f32';
}

/** Returns the arithmetic in which two operands are compared. */
export function comparedIn(x: Arithmetic, y: Arithmetic): 'f32' | 'f64' | 'i32' {
  const common = joined(x, y);
  return common === 'literal' || common === 'fraction' ? 'f32' : common;
}

/** Returns the arithmetic of every node's value, given the operands' dtypes. */
export function arithmetics(expr: Expr, dtypes: readonly DType[]): ReadonlyMap<Expr, Arithmetic> {
  const known = new Map<Expr, Arithmetic>();
  for (const node of nodesOf(expr)) known.set(node, arithmeticOfNode(node, dtypes, known));
  return known;
}

/** Returns the arithmetic of an expression's value. */
export function arithmeticOf(expr: Expr, dtypes: readonly DType[]): Arithmetic {
  return arithmetics(expr, dtypes).get(expr)!;
}

/** The arithmetic of each dtype's elements. */
export const arithmeticOfDType: { readonly [D in DType]: Arithmetic } = {
  bool: 'i32',
  uint8: 'i32',
  int32: 'i32',
  float16: 'f32',
  bfloat16: 'f32',
  float32: 'f32',
  float64: 'f64',
};

function arithmeticOfNode(
  expr: Expr,
  dtypes: readonly DType[],
  known: ReadonlyMap<Expr, Arithmetic>,
): Arithmetic {
  switch (expr.kind) {
    case 'input':
      return arithmeticOfDType[dtypes[expr.index]!];
    case 'const':
      return Number.isInteger(expr.value) ? 'literal' : 'fraction';
    case 'attr':
      return 'literal';
    case 'unary':
      return unaryResult[expr.fn](known.get(expr.x)!);
    case 'binary':
      return binaryResult[expr.fn](known.get(expr.x)!, known.get(expr.y)!);
    case 'compare':
      return 'i32';
    case 'select':
      return joined(known.get(expr.then)!, known.get(expr.otherwise)!);
    case 'precision':
      return known.get(expr.single)!;
    case 'double':
      return 'f64';
  }
}

/** The expression that copies its only operand. */
export const identity = E.input(0);
