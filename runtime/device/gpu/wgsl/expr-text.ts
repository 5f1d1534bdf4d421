import { InvariantError, invariant } from '../../../errors/invariant.ts';
import type { BinaryFn, Expr, UnaryFn } from '../../../ops/expr/expr.ts';
import { nodesOf } from '../../../ops/expr/expr-nodes.ts';
import { type Arithmetic, arithmetics, comparedIn } from '../../../ops/expr/expr-type.ts';
import { type DType, dtypes } from '../../../spec/dtype.ts';
import { intBinaryText, intText, intUnaryText } from './elements/integer-functions.ts';
import {
  binaryText,
  compareText,
  isProduct,
  numberText,
  powerText,
  unaryText,
} from './math-functions.ts';
import type { WgslWriter } from './wgsl-writer.ts';

/** Returns the attributes that are exponents; integer ones are part of the text. */
export function exponentsOf(expr: Expr): readonly string[] {
  return nodesOf(expr).flatMap((node) =>
    node.kind === 'binary' && node.fn === 'pow' && node.y.kind === 'attr' ? [node.y.name] : [],
  );
}

/** Returns the part of an exponent that the generated text depends on. */
export function exponentClass(value: number): string {
  return isProduct(value) ? String(value) : 'any';
}

/** The WGSL type of a value in an expression. */
type Form = 'f32' | 'i32' | 'bool';

/** The texts of the operands and attributes that an expression reads. */
interface ExprSources {
  /** Returns the name of an operand's element. */
  readonly element: (index: number) => string;
  /** Returns an expression for an attribute. */
  readonly attr: (name: string, form: 'f32' | 'i32') => string;
  readonly exponent: (name: string) => number;
}

/**
 * Writes the value of an expression as an element of `dtype`, given its operands' dtypes; uint8 and half precision
 * are rounded when stored. In static single assignment form: a repeated subtree is computed once.
 */
export function exprText(
  w: WgslWriter,
  expr: Expr,
  operandDTypes: readonly DType[],
  dtype: DType,
  sources: ExprSources,
): string {
  const writer = new ExprWriter(w, arithmetics(expr, operandDTypes), sources);
  if (dtype === 'bool') return w.let(convertText(writer.write(expr, 'bool'), 'bool', 'i32'));
  return writer.write(expr, dtypes[dtype].floating ? 'f32' : 'i32');
}

class ExprWriter {
  readonly #w: WgslWriter;
  readonly #arithmetics: ReadonlyMap<Expr, Arithmetic>;
  readonly #sources: ExprSources;
  readonly #written = new Map<Expr, Map<Form, string>>();

  constructor(w: WgslWriter, arithmetics: ReadonlyMap<Expr, Arithmetic>, sources: ExprSources) {
    this.#w = w;
    this.#arithmetics = arithmetics;
    this.#sources = sources;
  }

  /** Returns the name of the node's value in a form. */
  write(node: Expr, form: Form): string {
    let forms = this.#written.get(node);
    if (!forms) {
      forms = new Map();
      this.#written.set(node, forms);
    }
    let name = forms.get(form);
    if (name === undefined) {
      name = this.#convert(node, form);
      forms.set(form, name);
    }
    return name;
  }

  #convert(node: Expr, form: Form): string {
    const own = this.#ownForm(node, form);
    if (own !== form) return this.#w.let(convertText(this.write(node, own), own, form));
    return node.kind === 'input'
      ? this.#sources.element(node.index)
      : this.#w.let(this.#code(node, own));
  }

  /** Returns the form that the node is computed in. */
  #ownForm(node: Expr, target: Form): Form {
    if (node.kind === 'compare') return 'bool';
    const arithmetic = this.#arithmetics.get(node)!;
    invariant(arithmetic !== 'f64', 'the GPU computes in float32');
    if (arithmetic === 'fraction') return 'f32';
    if (arithmetic !== 'literal') return arithmetic;
    return target === 'bool' ? 'f32' : target;
  }

  #code(node: Exclude<Expr, { kind: 'input' }>, form: Form): string {
    switch (node.kind) {
      case 'const':
        return form === 'i32' ? intText(node.value) : numberText(node.value);
      case 'attr':
        return this.#sources.attr(node.name, form === 'i32' ? 'i32' : 'f32');
      case 'unary':
        return this.#unary(node.fn, node.x, form);
      case 'binary':
        return this.#binary(node.fn, node.x, node.y, form);
      case 'compare': {
        const { x, y } = node;
        const common = comparedIn(this.#arithmetics.get(x)!, this.#arithmetics.get(y)!);
        invariant(common !== 'f64', 'the GPU computes in float32');
        return compareText(node.fn, this.write(x, common), this.write(y, common));
      }
      case 'select': {
        const test = this.write(node.test, 'bool');
        const [then, otherwise] = [this.write(node.then, form), this.write(node.otherwise, form)];
        return `select(${otherwise}, ${then}, ${test})`;
      }
      case 'precision':
      case 'double':
        throw new InvariantError('the GPU computes in float32');
    }
  }

  #unary(fn: UnaryFn, operand: Expr, form: Form): string {
    if (fn === 'toInt') return this.write(operand, 'i32');
    const int = form === 'i32' ? intUnaryText[fn] : undefined;
    return int ? int(this.write(operand, 'i32')) : unaryText[fn](this.write(operand, 'f32'));
  }

  #binary(fn: BinaryFn, x: Expr, y: Expr, form: Form): string {
    const int = form === 'i32' ? intBinaryText[fn] : undefined;
    if (int) return int(this.write(x, 'i32'), this.write(y, 'i32'));
    const exponent = fn === 'pow' ? this.#exponent(y) : null;
    if (exponent !== null) {
      return powerText(this.write(x, 'f32'), exponent, (text) => this.#w.let(text));
    }
    return binaryText[fn](this.#operand(x), this.#operand(y));
  }

  /** Drivers fold `x * 0` to 0, which is wrong for NaN and infinities, and `x + 0` to x, which is wrong for -0. */
  #operand(node: Expr): string {
    const isZero = node.kind === 'const' && node.value === 0;
    if (!isZero) return this.write(node, 'f32');
    const zero = this.#w.uniform('zero', { kind: 'number', value: 0 });
    return Object.is(node.value, -0) ? `(-${zero})` : zero;
  }

  /** Returns a known exponent for which the power is a product, or null. */
  #exponent(node: Expr): number | null {
    if (node.kind !== 'const' && node.kind !== 'attr') return null;
    const value = node.kind === 'const' ? node.value : this.#sources.exponent(node.name);
    return isProduct(value) ? value : null;
  }
}

/** Converts a value to another form, as the CPU does. */
function convertText(value: string, from: Form, to: Form): string {
  if (from === to) return value;
  switch (to) {
    case 'bool':
      // By bits: drivers evaluate `NaN != 0` as false and flush subnormal numbers to 0.
      return from === 'f32' ? `((bitcast<u32>(${value}) & 0x7fffffffu) != 0u)` : `(${value} != 0i)`;
    case 'i32':
      return from === 'f32' ? `f_to_int(${value})` : `select(0i, 1i, ${value})`;
    case 'f32':
      return from === 'i32' ? `f32(${value})` : `select(0.0f, 1.0f, ${value})`;
  }
}
