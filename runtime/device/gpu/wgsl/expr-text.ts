import { InvariantError, invariant } from '../../../errors/invariant.ts';
import type { Expr } from '../../../ops/expr/expr.ts';
import { nodesOf } from '../../../ops/expr/expr-nodes.ts';
import { arithmeticOf } from '../../../ops/expr/expr-type.ts';
import type { DType } from '../../../spec/dtype.ts';
import {
  binaryText,
  compareText,
  isProduct,
  numberText,
  powerText,
  unaryText,
} from './math-functions.ts';
import type { WgslWriter } from './wgsl-writer.ts';

/** Attributes that are exponents: whole ones are part of the text. */
export function exponentsOf(expr: Expr): readonly string[] {
  return nodesOf(expr).flatMap((node) =>
    node.kind === 'binary' && node.fn === 'pow' && node.y.kind === 'attr' ? [node.y.name] : [],
  );
}

/** Returns the part of an exponent that the generated text depends on. */
export function exponentClass(value: number): string {
  return isProduct(value) ? String(value) : 'any';
}

/** The texts of the operands and attributes that an expression reads. */
export interface ExprSources {
  /** The name of an operand's element. */
  readonly element: (index: number) => string;
  /** An expression for an attribute. */
  readonly attr: (name: string) => string;
  readonly exponent: (name: string) => number;
}

/** Writes a tree in static single assignment: a subtree that occurs twice is computed once. */
export function exprText(w: WgslWriter, expr: Expr, sources: ExprSources): string {
  const written = new Map<Expr, string>();
  const name = (text: string) => w.let(text);
  const write = (node: Expr): string => {
    let known = written.get(node);
    if (known === undefined) {
      known = node.kind === 'input' ? sources.element(node.index) : name(code(node));
      written.set(node, known);
    }
    return known;
  };
  const code = (node: Exclude<Expr, { kind: 'input' }>): string => {
    switch (node.kind) {
      case 'const':
        return numberText(node.value);
      case 'attr':
        return sources.attr(node.name);
      case 'unary':
        return unaryText[node.fn](write(node.x));
      case 'binary': {
        const exponent = node.fn === 'pow' ? known(node.y) : null;
        if (exponent !== null) return powerText(write(node.x), exponent, name);
        return binaryText[node.fn](write(node.x), write(node.y));
      }
      case 'compare':
        return compareText(node.fn, write(node.x), write(node.y));
      case 'select': {
        const [then, otherwise] = [write(node.then), write(node.otherwise)];
        // Asked this way round because drivers answer `NaN != 0` with no.
        return `select(${then}, ${otherwise}, ${write(node.test)} == 0.0f)`;
      }
      case 'precision':
      case 'double':
        throw new InvariantError('the GPU computes in float32');
    }
  };
  const known = (node: Expr): number | null => {
    if (node.kind !== 'const' && node.kind !== 'attr') return null;
    const value = node.kind === 'const' ? node.value : sources.exponent(node.name);
    return isProduct(value) ? value : null;
  };
  return write(expr);
}

/** The value as an element of the dtype: integers and bools live in float32, and whatever isn't one is made one. */
export function storedText(
  w: WgslWriter,
  value: string,
  expr: Expr,
  dtypes: readonly DType[],
  dtype: DType,
): string {
  invariant(dtype === 'float32' || dtype === 'int32' || dtype === 'bool', `${dtype} on the GPU`);
  if (dtype === 'float32') return value;
  if (dtype === 'bool') {
    return isBool(expr, dtypes) ? value : w.let(compareText('ne', value, '0.0f'));
  }
  return arithmeticOf(expr, dtypes) === 'i32' ? value : w.let(unaryText.toInt(value));
}

function isBool(expr: Expr, dtypes: readonly DType[]): boolean {
  return expr.kind === 'compare' || (expr.kind === 'input' && dtypes[expr.index] === 'bool');
}
