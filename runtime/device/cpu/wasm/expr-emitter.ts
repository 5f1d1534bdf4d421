import type { BinaryFn, CompareFn, Expr, UnaryFn } from '../../../ops/expr.ts';
import { type Arithmetic, arithmetics, joined } from '../../../ops/expr-type.ts';
import type { DType } from '../../../tensor/dtype.ts';
import { toInt32 } from '../scalar/pointwise.ts';
import { type Code, f32x4, i32x4, op, type PlainOp } from './code.ts';
import { type FunctionBuilder, get, type Local } from './function-builder.ts';
import { byLane } from './lanes.ts';
import { emitSine } from './sine.ts';
import { emitExp, emitLog, emitTanh } from './transcendental.ts';

/** How a value lies in a vector: numbers, or a mask of all ones for true. */
export type Form = 'f32' | 'i32' | 'mask';

const floatOps = {
  add: 'f32x4.add',
  sub: 'f32x4.sub',
  mul: 'f32x4.mul',
  max: 'f32x4.max',
  min: 'f32x4.min',
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

const intComparisons: { readonly [F in CompareFn]: PlainOp } = {
  eq: 'i32x4.eq',
  ne: 'i32x4.ne',
  lt: 'i32x4.lt_s',
  le: 'i32x4.le_s',
  gt: 'i32x4.gt_s',
  ge: 'i32x4.ge_s',
};

/** Where the emitter finds leaves: the current vector of an operand, the splat of an attribute. */
export interface Leaves {
  readonly input: (index: number) => Local;
  readonly attr: (name: string, form: 'f32' | 'i32') => Local;
}

/** Emits an expression for four elements at once; a node that occurs twice is computed once. */
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
    const own = this.#ownForm(expr, form);
    if (own === form) return this.#node(expr, own);
    const value = get(this.emit(expr, own));
    if (form === 'mask') return this.#isNotZero(value, own);
    // A mask becomes 0 or 1.
    const int = own === 'mask' ? op('v128.and', value, this.#f.constant(i32x4(1))) : value;
    if (form === 'i32') return own === 'f32' ? op('i32x4.trunc_sat_f32x4_s', value) : int;
    return op('f32x4.convert_i32x4_s', int);
  }

  #isNotZero(value: Code, own: Form): Code {
    return own === 'f32' ? op('f32x4.ne', value, f32x4(0)) : op('i32x4.ne', value, i32x4(0));
  }

  /** The form that the node is computed in. */
  #ownForm(expr: Expr, wanted: Form): Form {
    if (expr.kind === 'compare') return 'mask';
    const own = this.#arithmetics.get(expr)!;
    if (own !== 'literal') return own;
    return wanted === 'mask' ? 'f32' : wanted;
  }

  #node(expr: Expr, form: Form): Code {
    switch (expr.kind) {
      case 'input':
        return get(this.#leaves.input(expr.index));
      case 'const':
        return this.#f.constant(form === 'i32' ? i32x4(toInt32(expr.value)) : f32x4(expr.value));
      case 'attr':
        return get(this.#leaves.attr(expr.name, form === 'i32' ? 'i32' : 'f32'));
      case 'unary':
        return this.#unary(expr.fn, expr.x, form);
      case 'binary':
        return this.#binary(expr.fn, expr.x, expr.y, form);
      case 'compare': {
        const common = joined(this.#arithmetics.get(expr.x)!, this.#arithmetics.get(expr.y)!);
        const operands = common === 'i32' ? 'i32' : 'f32';
        const names = operands === 'i32' ? intComparisons : floatComparisons;
        const x = this.emit(expr.x, operands);
        return op(names[expr.fn], get(x), get(this.emit(expr.y, operands)));
      }
      case 'select': {
        const test = this.emit(expr.test, 'mask');
        const then = this.emit(expr.then, form);
        const otherwise = this.emit(expr.otherwise, form);
        return op('v128.bitselect', get(then), get(otherwise), get(test));
      }
    }
  }

  #unary(fn: UnaryFn, operand: Expr, form: Form): Code {
    if (fn === 'toInt') return get(this.emit(operand, 'i32'));
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

  #binary(fn: BinaryFn, left: Expr, right: Expr, form: Form): Code {
    const operands = form === 'i32' ? 'i32' : 'f32';
    const x = this.emit(left, operands);
    const y = this.emit(right, operands);
    const int = operands === 'i32';
    switch (fn) {
      case 'pow':
        return int ? byLane(this.#f, 'intPow', x, y) : this.#pow(x, y);
      case 'rem':
        return byLane(this.#f, int ? 'intRem' : 'rem', x, y);
      case 'quotient':
        if (int) return byLane(this.#f, 'intQuotient', x, y);
        return op('f32x4.trunc', op('f32x4.div', get(x), get(y)));
      case 'div':
        return op('f32x4.div', get(x), get(y));
      default:
        return op((int ? intOps : floatOps)[fn], get(x), get(y));
    }
  }

  /** Where the exponent is 2 throughout, a product (the same bits); else JavaScript's function. */
  #pow(x: Local, y: Local): Code {
    const f = this.#f;
    const result = f.local('v128');
    f.if(
      op('i8x16.all_true', op('f32x4.eq', get(y), f32x4(2))),
      () => f.set(result, op('f32x4.mul', get(x), get(x))),
      () => f.set(result, byLane(f, 'pow', x, y)),
    );
    return get(result);
  }
}
