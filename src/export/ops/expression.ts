import type {
  BinaryFn,
  CompareFn,
  DoubleFn,
  Expr,
  UnaryFn,
} from '../../../runtime/ops/expr/expr.ts';
import { type Arithmetic, arithmetics, comparedIn } from '../../../runtime/ops/expr/expr-type.ts';
import type { DType } from '../../../runtime/spec/dtype.ts';
import {
  type ArithmeticTarget,
  type Direction,
  type Element,
  elementOf,
  type TargetValue,
} from '../target/target.ts';
import { doubleFunction } from './double-functions.ts';

/** The element types in which nodes are computed. */
type Computed = 'i32' | 'f32' | 'f64';

const binaryNames = {
  add: 'add',
  sub: 'subtract',
  mul: 'multiply',
  div: 'divide',
  max: 'maximum',
  min: 'minimum',
  pow: 'power',
} as const satisfies Record<Exclude<BinaryFn, 'rem' | 'quotient'>, string>;

interface Pointwise<V extends TargetValue> {
  readonly expr: Expr;
  /** The inputs, of any shapes that broadcast to the result's. */
  readonly inputs: readonly V[];
  readonly dtypes: readonly DType[];
  readonly dtype: DType;
  readonly shape: V['shape'];
  /** Returns a numeric attribute of the op as a scalar. */
  readonly attr: (name: string, element: Element) => V;
}

/**
 * Emits the scalar function of an op on whole tensors, computing every node in the same element type as our
 * kernels.
 */
export function emitPointwise<V extends TargetValue>(
  to: ArithmeticTarget<V>,
  pointwise: Pointwise<V>,
): V {
  const { expr, dtype } = pointwise;
  const result = new ExpressionEmitter(to, pointwise);
  const element = elementOf[dtype];
  if (element === 'i1') return result.truth(expr);
  if (element === 'f64') return result.number(expr, 'f64');
  if (element === 'i32') return result.number(expr, 'i32');
  if (element === 'ui8') return to.convert(result.number(expr, 'i32'), 'ui8');
  return to.convert(result.number(expr, 'f32'), element);
}

class ExpressionEmitter<V extends TargetValue> {
  readonly #to: ArithmeticTarget<V>;
  readonly #pointwise: Pointwise<V>;
  readonly #known: ReadonlyMap<Expr, Arithmetic>;
  readonly #isDouble: boolean;
  readonly #emitted = new Map<Expr, Map<Element, V>>();

  constructor(to: ArithmeticTarget<V>, pointwise: Pointwise<V>) {
    this.#to = to;
    this.#pointwise = pointwise;
    this.#known = arithmetics(pointwise.expr, pointwise.dtypes);
    this.#isDouble = pointwise.dtype === 'float64' || pointwise.dtypes.includes('float64');
  }

  number(node: Expr, target: Computed): V {
    const arithmetic = this.#arithmetic(node, target);
    return this.#cached(node, target, () =>
      this.#to.convert(this.#compute(node, arithmetic), target),
    );
  }

  truth(node: Expr): V {
    return this.#cached(node, 'i1', () => {
      if (node.kind === 'compare') return this.#compare(node.fn, node.x, node.y);
      const arithmetic = this.#arithmetic(node, 'f32');
      const value = this.#cached(node, arithmetic, () => this.#compute(node, arithmetic));
      if (value.element === 'i1') return value;
      return this.#to.compare('NE', value, this.#to.constant(0, value.element, value.shape));
    });
  }

  #arithmetic(node: Expr, target: Computed): Computed {
    const arithmetic = this.#known.get(node)!;
    if (arithmetic === 'literal') return target;
    if (arithmetic === 'fraction') return target === 'i32' ? 'f32' : target;
    return arithmetic;
  }

  #cached(node: Expr, element: Element, make: () => V): V {
    const known = this.#emitted.get(node) ?? new Map<Element, V>();
    this.#emitted.set(node, known);
    const value = known.get(element) ?? make();
    known.set(element, value);
    return value;
  }

  #compute(node: Expr, own: Computed): V {
    const to = this.#to;
    const { shape, inputs } = this.#pointwise;
    switch (node.kind) {
      case 'input': {
        const input = to.convert(inputs[node.index]!, own);
        return to.spread(input, shape);
      }
      case 'const':
        return to.constant(node.value, own, shape);
      case 'attr':
        return to.spread(this.#pointwise.attr(node.name, own), shape);
      case 'unary':
        return this.#unary(
          node.fn,
          this.number(node.x, node.fn === 'toInt' ? this.#operand(node.x) : own),
        );
      case 'binary':
        return this.#binary(node.fn, this.number(node.x, own), this.number(node.y, own));
      case 'compare':
        return to.convert(this.#compare(node.fn, node.x, node.y), own);
      case 'select':
        return to.select(
          this.truth(node.test),
          this.number(node.then, own),
          this.number(node.otherwise, own),
        );
      case 'precision':
        return this.number(
          this.#isDouble ? node.double : node.single,
          this.#isDouble ? 'f64' : own,
        );
      case 'double':
        return doubleFunction(
          to,
          node.fn as DoubleFn,
          node.operands.map((each) => this.number(each, 'f64')),
        );
    }
  }

  /** Returns the element type in which an operand that becomes an integer is computed: its own. */
  #operand(node: Expr): Computed {
    const arithmetic = this.#known.get(node)!;
    return arithmetic === 'literal' || arithmetic === 'fraction' ? 'f32' : arithmetic;
  }

  #compare(fn: CompareFn, x: Expr, y: Expr): V {
    const common = comparedIn(this.#known.get(x)!, this.#known.get(y)!);
    return this.#to.compare(
      fn.toUpperCase() as Direction,
      this.number(x, common),
      this.number(y, common),
    );
  }

  #unary(fn: UnaryFn, x: V): V {
    const to = this.#to;
    if (x.element === 'i32' && ['floor', 'ceil', 'trunc', 'round', 'toInt'].includes(fn)) return x;
    const number = (value: number) => to.constant(value, x.element, x.shape);
    switch (fn) {
      case 'neg':
        return to.unary('negate', x);
      case 'exp':
        return to.unary('exponential', x);
      case 'exp2':
        return to.binary('power', number(2), x);
      case 'log2':
        return to.binary('divide', to.unary('log', x), number(Math.LN2));
      case 'sin':
        return to.unary('sine', x);
      case 'cos':
        return to.unary('cosine', x);
      case 'trunc':
        return to.select(to.compare('LT', x, number(0)), to.unary('ceil', x), to.unary('floor', x));
      case 'round':
        return to.unary('round_nearest_even', x);
      case 'toInt':
        return to.convert(x, 'i32');
      default:
        return to.unary(fn, x);
    }
  }

  #binary(fn: BinaryFn, x: V, y: V): V {
    if (fn === 'rem') return this.#whole('remainder', x, y);
    if (fn === 'quotient') return this.#whole('divide', x, y);
    return this.#to.binary(binaryNames[fn], x, y);
  }

  /** Emits `remainder` or `divide`; for integers, the result for a divisor of 0 is 0. */
  #whole(name: 'remainder' | 'divide', x: V, y: V): V {
    const to = this.#to;
    if (x.element !== 'i32') return to.binary(name, x, y);
    const zero = to.constant(0, 'i32', x.shape);
    const isZero = to.compare('EQ', y, zero);
    const divisor = to.select(isZero, to.constant(1, 'i32', x.shape), y);
    return to.select(isZero, zero, to.binary(name, x, divisor));
  }
}
