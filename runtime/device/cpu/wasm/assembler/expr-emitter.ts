import { InvariantError } from '../../../../errors/invariant.ts';
import type { BinaryFn, CompareFn, Expr, UnaryFn } from '../../../../ops/expr/expr.ts';
import { type Arithmetic, arithmetics, comparedIn } from '../../../../ops/expr/expr-type.ts';
import type { DType } from '../../../../spec/dtype.ts';
import { toInt32 } from '../../scalar/pointwise.ts';
import { type Code, f32x4, f64x2, i32x4, op, type PlainOp, shuffle } from './code.ts';
import { emitDoubleExp, emitDoubleLog, emitDoubleTanh } from './double-transcendental.ts';
import { doubleOf, rounded, upper } from './double-vectors.ts';
import { type FunctionBuilder, get, type Local } from './function-builder.ts';
import { byDoubleLane, byLane } from './lanes.ts';
import { emitPower, emitRemainder } from './power.ts';
import { emitSine } from './sine.ts';
import { emitExp, emitLog, emitTanh } from './transcendental.ts';

/** The number format in a vector. A kernel with float64 processes two elements: other dtypes fill half a vector. */
export type NumberForm = 'f32' | 'f64' | 'i32';

/** The form of a value in a vector: numbers, or a mask with 32 ones for true. */
type Form = NumberForm | 'mask';

const floatOps = {
  add: 'f32x4.add',
  sub: 'f32x4.sub',
  mul: 'f32x4.mul',
  max: 'f32x4.max',
  min: 'f32x4.min',
} as const;

const doubleOps = {
  add: 'f64x2.add',
  sub: 'f64x2.sub',
  mul: 'f64x2.mul',
  max: 'f64x2.max',
  min: 'f64x2.min',
} as const;

const intOps = {
  add: 'i32x4.add',
  sub: 'i32x4.sub',
  mul: 'i32x4.mul',
  max: 'i32x4.max_s',
  min: 'i32x4.min_s',
} as const;

const floatComparisons: { readonly [F in CompareFn]: PlainOp } = {
  eq: 'f32x4.eq',
  ne: 'f32x4.ne',
  lt: 'f32x4.lt',
  le: 'f32x4.le',
  gt: 'f32x4.gt',
  ge: 'f32x4.ge',
};

const doubleComparisons: { readonly [F in CompareFn]: PlainOp } = {
  eq: 'f64x2.eq',
  ne: 'f64x2.ne',
  lt: 'f64x2.lt',
  le: 'f64x2.le',
  gt: 'f64x2.gt',
  ge: 'f64x2.ge',
};

const intComparisons: { readonly [F in CompareFn]: PlainOp } = {
  eq: 'i32x4.eq',
  ne: 'i32x4.ne',
  lt: 'i32x4.lt_s',
  le: 'i32x4.le_s',
  gt: 'i32x4.gt_s',
  ge: 'i32x4.ge_s',
};

/** Returns the values of leaves: the current vector of an operand, the splat of an attribute. */
interface Leaves {
  readonly input: (index: number) => Local;
  readonly attr: (name: string, form: NumberForm) => Code;
}

/** Converts masks of two float64 to masks of the first two 32-bit lanes, and back. */
const narrowMask = (mask: Local): Code => shuffle(get(mask), get(mask), [0, 2, 0, 2]);
const widenMask = (mask: Local): Code => shuffle(get(mask), get(mask), [0, 0, 1, 1]);

/** Emits an expression without `precision` nodes for all elements of a vector; a repeated node is computed once. */
export class ExprEmitter {
  readonly #f: FunctionBuilder;
  readonly #arithmetics: ReadonlyMap<Expr, Arithmetic>;
  readonly #leaves: Leaves;
  readonly #done = new Map<Expr, Map<Form, Local>>();

  constructor(f: FunctionBuilder, root: Expr, dtypes: readonly DType[], leaves: Leaves) {
    this.#f = f;
    this.#arithmetics = arithmetics(root, dtypes);
    this.#leaves = leaves;
  }

  emit(expr: Expr, form: Form): Local {
    let forms = this.#done.get(expr);
    if (!forms) {
      forms = new Map();
      this.#done.set(expr, forms);
    }
    const known = forms.get(form);
    if (known) return known;
    const local = this.#f.local('v128', this.#convert(expr, form));
    forms.set(form, local);
    return local;
  }

  #convert(expr: Expr, form: Form): Code {
    const ownForm = this.#ownForm(expr, form);
    if (ownForm === form) return this.#node(expr, ownForm);
    const value = get(this.emit(expr, ownForm));
    if (form === 'mask') return this.#isNotZero(value, ownForm);
    // A mask becomes 0 or 1.
    const int = ownForm === 'mask' ? op('v128.and', value, this.#f.constant(i32x4(1))) : value;
    switch (form) {
      case 'i32':
        if (ownForm === 'f64') return op('i32x4.trunc_sat_f64x2_s_zero', value);
        return ownForm === 'f32' ? op('i32x4.trunc_sat_f32x4_s', value) : int;
      case 'f32':
        return ownForm === 'f64'
          ? op('f32x4.demote_f64x2_zero', value)
          : op('f32x4.convert_i32x4_s', int);
      case 'f64':
        return ownForm === 'f32'
          ? op('f64x2.promote_low_f32x4', value)
          : op('f64x2.convert_low_i32x4_s', int);
    }
  }

  #isNotZero(value: Code, own: Form): Code {
    if (own === 'f32') return op('f32x4.ne', value, f32x4(0));
    if (own === 'f64') {
      return narrowMask(this.#f.local('v128', op('f64x2.ne', value, this.#f.constant(f64x2(0)))));
    }
    return op('i32x4.ne', value, i32x4(0));
  }

  /** Returns the form that the node is computed in. */
  #ownForm(expr: Expr, target: Form): Form {
    if (expr.kind === 'compare') return 'mask';
    const arithmetic = this.#arithmetics.get(expr)!;
    if (arithmetic === 'fraction') return target === 'f64' ? 'f64' : 'f32';
    if (arithmetic !== 'literal') return arithmetic;
    return target === 'mask' ? 'f32' : target;
  }

  #node(expr: Expr, form: Form): Code {
    switch (expr.kind) {
      case 'input':
        return get(this.#leaves.input(expr.index));
      case 'const':
        return this.#f.constant(numberCode(expr.value, form));
      case 'attr':
        return this.#leaves.attr(expr.name, form === 'mask' ? 'f32' : form);
      case 'unary':
        return this.#unary(expr.fn, expr.x, form);
      case 'binary':
        return this.#binary(expr.fn, expr.x, expr.y, form);
      case 'compare': {
        const { x, y } = expr;
        const form = comparedIn(this.#arithmetics.get(x)!, this.#arithmetics.get(y)!);
        const operands = [get(this.emit(x, form)), get(this.emit(y, form))];
        if (form === 'i32') return op(intComparisons[expr.fn], ...operands);
        if (form === 'f32') return op(floatComparisons[expr.fn], ...operands);
        return narrowMask(this.#f.local('v128', op(doubleComparisons[expr.fn], ...operands)));
      }
      case 'select': {
        const test = this.emit(expr.test, 'mask');
        const then = this.emit(expr.then, form);
        const otherwise = this.emit(expr.otherwise, form);
        const chosen = form === 'f64' ? widenMask(test) : get(test);
        return op('v128.bitselect', get(then), get(otherwise), chosen);
      }
      case 'double': {
        const operands = expr.operands.map((operand) => this.emit(operand, 'f64'));
        return byDoubleLane(this.#f, expr.fn, ...operands);
      }
      case 'precision':
        throw new InvariantError('an expression whose precision was not chosen');
    }
  }

  #unary(fn: UnaryFn, operand: Expr, form: Form): Code {
    if (fn === 'toInt') return get(this.emit(operand, 'i32'));
    if (form === 'f64') return this.#doubleUnary(fn, this.emit(operand, 'f64'));
    const x = get(this.emit(operand, form === 'i32' ? 'i32' : 'f32'));
    const int = form === 'i32';
    switch (fn) {
      case 'neg':
        return op(int ? 'i32x4.neg' : 'f32x4.neg', x);
      case 'abs':
        return op(int ? 'i32x4.abs' : 'f32x4.abs', x);
      case 'floor':
      case 'ceil':
      case 'trunc':
        return int ? x : op(`f32x4.${fn}`, x);
      case 'round':
        return int ? x : op('f32x4.nearest', x);
      case 'sin':
      case 'cos':
        return emitSine(this.#f, x, fn);
      case 'sqrt':
        return op('f32x4.sqrt', x);
      case 'exp':
        return emitExp(this.#f, x);
      case 'exp2':
        return emitExp(this.#f, x, 2);
      case 'log':
        return emitLog(this.#f, x);
      case 'log2':
        return emitLog(this.#f, x, 2);
      case 'tanh':
        return emitTanh(this.#f, x);
    }
  }

  #doubleUnary(fn: Exclude<UnaryFn, 'toInt'>, x: Local): Code {
    switch (fn) {
      case 'neg':
      case 'abs':
      case 'floor':
      case 'ceil':
      case 'trunc':
      case 'sqrt':
        return op(`f64x2.${fn}`, get(x));
      case 'round':
        return op('f64x2.nearest', get(x));
      case 'exp':
        return emitDoubleExp(this.#f, x);
      case 'log':
        return emitDoubleLog(this.#f, x);
      case 'tanh':
        return emitDoubleTanh(this.#f, x);
      default:
        return byDoubleLane(this.#f, fn, x);
    }
  }

  #doubleBinary(fn: BinaryFn, x: Local, y: Local): Code {
    switch (fn) {
      case 'pow':
      case 'rem':
        return byDoubleLane(this.#f, fn, x, y);
      case 'quotient':
        return op('f64x2.trunc', op('f64x2.div', get(x), get(y)));
      case 'div':
        return op('f64x2.div', get(x), get(y));
      default:
        return op(doubleOps[fn], get(x), get(y));
    }
  }

  #binary(fn: BinaryFn, left: Expr, right: Expr, form: Form): Code {
    if (form === 'f64')
      return this.#doubleBinary(fn, this.emit(left, form), this.emit(right, form));
    const operands = form === 'i32' ? 'i32' : 'f32';
    const x = this.emit(left, operands);
    const y = this.emit(right, operands);
    const int = operands === 'i32';
    switch (fn) {
      case 'pow':
        return int ? byLane(this.#f, 'intPow', x, y) : this.#pow(x, y);
      case 'rem':
        return int ? byLane(this.#f, 'intRem', x, y) : emitRemainder(this.#f, x, y);
      case 'quotient':
        if (int) return byLane(this.#f, 'intQuotient', x, y);
        return op('f32x4.trunc', op('f32x4.div', get(x), get(y)));
      case 'div':
        return op('f32x4.div', get(x), get(y));
      default:
        return op((int ? intOps : floatOps)[fn], get(x), get(y));
    }
  }

  /**
   * If all lanes have the same common exponent, uses instructions that yield the same bits as JavaScript's function.
   */
  #pow(x: Local, y: Local): Code {
    const f = this.#f;
    const result = f.local('v128', get(x));
    const isThroughout = (exponent: number) =>
      op('i8x16.all_true', op('f32x4.eq', get(y), f32x4(exponent)));
    const usual = usualPowers(f);
    const choose = (index: number): void => {
      const power = usual[index];
      if (!power) {
        f.set(result, emitPower(f, x, y));
        return;
      }
      f.if(
        isThroughout(power.exponent),
        () => f.set(result, power.of(x)),
        () => choose(index + 1),
      );
    };
    choose(0);
    return get(result);
  }
}

interface UsualPower {
  readonly exponent: number;
  readonly of: (x: Local) => Code;
}

/**
 * Exponents with float32 instructions that round like the float64 function rounded to float32: no result is close
 * enough to the midpoint of two float32 numbers for its last bit to matter. A cube is computed in float64, as by
 * `imported.pow`.
 */
function usualPowers(f: FunctionBuilder): readonly UsualPower[] {
  return [
    { exponent: 2, of: (x) => op('f32x4.mul', get(x), get(x)) },
    { exponent: 1, of: get },
    { exponent: 3, of: (x) => cube(f, x) },
    { exponent: -1, of: (x) => op('f32x4.div', f32x4(1), get(x)) },
    { exponent: 0.5, of: squareRoot },
  ];
}

function cube(f: FunctionBuilder, x: Local): Code {
  const half = (vector: Code): Code => {
    const wide = get(f.local('v128', doubleOf(vector)));
    return op('f64x2.mul', op('f64x2.mul', wide, wide), wide);
  };
  return rounded(half(get(x)), half(upper(get(x))));
}

/** The square root of −0 is −0 and that of −∞ is NaN, but the powers are 0 and ∞. */
function squareRoot(x: Local): Code {
  const infinite = op('f32x4.eq', get(x), f32x4(Number.NEGATIVE_INFINITY));
  const root = op('f32x4.sqrt', op('f32x4.add', get(x), f32x4(0)));
  return op('v128.bitselect', f32x4(Number.POSITIVE_INFINITY), root, infinite);
}

/** A constant in every lane. */
function numberCode(value: number, form: Form): Code {
  if (form === 'i32') return i32x4(toInt32(value));
  return form === 'f64' ? f64x2(value) : f32x4(value);
}
