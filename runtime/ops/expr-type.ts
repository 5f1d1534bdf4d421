import type { DType } from '../tensor/dtype.ts';
import { type BinaryFn, E, type Expr, type UnaryFn } from './expr.ts';
import { nodesOf } from './expr-nodes.ts';

/**
 * In what arithmetic a node computes. `literal`: a number that joins whatever it meets. bool operands
 * and comparisons are i32, 0 or 1.
 */
export type Arithmetic = 'f32' | 'i32' | 'literal';

const unaryResult: { readonly [F in UnaryFn]: (x: Arithmetic) => Arithmetic } = {
  neg: (x) => x,
  abs: (x) => x,
  floor: (x) => x,
  ceil: (x) => x,
  trunc: (x) => x,
  round: (x) => x,
  exp: () => 'f32',
  exp2: () => 'f32',
  log2: () => 'f32',
  sin: () => 'f32',
  cos: () => 'f32',
  log: () => 'f32',
  sqrt: () => 'f32',
  tanh: () => 'f32',
  toInt: () => 'i32',
};

const binaryResult: { readonly [F in BinaryFn]: (x: Arithmetic, y: Arithmetic) => Arithmetic } = {
  add: joined,
  sub: joined,
  mul: joined,
  max: joined,
  min: joined,
  div: () => 'f32',
  pow: joined,
  rem: joined,
  quotient: joined,
};

/** What two operands of one node compute in: int32 only when neither is float32. */
export function joined(x: Arithmetic, y: Arithmetic): Arithmetic {
  if (x === 'literal') return y;
  if (y === 'literal') return x;
  return x === 'i32' && y === 'i32' ? 'i32' : 'f32';
}

/** Arithmetic of every node's value, given the operands' dtypes. */
export function arithmetics(expr: Expr, dtypes: readonly DType[]): ReadonlyMap<Expr, Arithmetic> {
  const known = new Map<Expr, Arithmetic>();
  for (const node of nodesOf(expr)) known.set(node, arithmeticOfNode(node, dtypes, known));
  return known;
}

/** Arithmetic of one expression's value. */
export function arithmeticOf(expr: Expr, dtypes: readonly DType[]): Arithmetic {
  return arithmetics(expr, dtypes).get(expr)!;
}

function arithmeticOfNode(
  expr: Expr,
  dtypes: readonly DType[],
  known: ReadonlyMap<Expr, Arithmetic>,
): Arithmetic {
  switch (expr.kind) {
    case 'input':
      return dtypes[expr.index] === 'float32' ? 'f32' : 'i32';
    case 'const':
      return Number.isInteger(expr.value) ? 'literal' : 'f32';
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
  }
}

/** The expression that copies its only operand. */
export const identity = E.input(0);
