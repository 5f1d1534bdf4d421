import type { Expr } from '../../../ops/expr.ts';
import { nodesOf } from '../../../ops/expr-nodes.ts';
import { type DType, dtypes } from '../../../tensor/dtype.ts';
import { argumentsAt } from '../scratch.ts';
import { type Code, i32, i32x4, lane, load, memoryLane, op, store } from './code.ts';
import { ExprEmitter } from './expr-emitter.ts';
import { type FunctionBuilder, get, type Local } from './function-builder.ts';
import { compile } from './module-builder.ts';

/** How an operand moves along the inner loop: next to each other, not at all, or by a stride. */
export type Walk = 'contiguous' | 'fixed' | 'strided';

/** What a pointwise kernel is specialised to. Operand 0 is the output. */
export interface PointwiseSignature {
  readonly expr: Expr;
  readonly dtypes: readonly DType[];
  readonly walks: readonly Walk[];
}

/**
 * Runs `rows` times over `n` elements. The arguments lie in scratch memory, four bytes each: per
 * operand its address, bytes from row to row and bytes from element to element; then the attributes.
 */
export interface PointwiseKernel {
  readonly run: (n: number, rows: number) => void;
  /** Attributes in the order of their places. */
  readonly attrs: readonly { readonly name: string; readonly form: 'f32' | 'i32' }[];
}

interface Cursor {
  readonly dtype: DType;
  readonly walk: Walk;
  /** First element of the row. */
  readonly row: Local;
  readonly rowStep: Local;
  readonly step: Local;
  /** Current element. */
  readonly at: Local;
  /** Current vector. */
  readonly value: Local;
}

/** Loads one element of any dtype into all lanes. */
function loadOne(dtype: DType, address: Code): Code {
  if (dtype !== 'bool') return load('v128.load32_splat', address);
  return op('i32x4.splat', load('i32.load8_u', address));
}

function loadContiguous(dtype: DType, address: Code): Code {
  if (dtype !== 'bool') return load('v128.load', address);
  const bytes = load('v128.load32_zero', address);
  return op('i32x4.extend_low_i16x8_u', op('i16x8.extend_low_i8x16_u', bytes));
}

class PointwiseWriter {
  readonly attrs: { name: string; form: 'f32' | 'i32' }[] = [];
  readonly #f: FunctionBuilder;
  readonly #signature: PointwiseSignature;
  readonly #cursors: readonly Cursor[];
  readonly #attrLocals = new Map<string, Local>();

  constructor(f: FunctionBuilder, signature: PointwiseSignature) {
    this.#f = f;
    this.#signature = signature;
    const n = f.param();
    const rows = f.param();
    this.#cursors = signature.dtypes.map((dtype, k) => {
      const argument = (i: number) => load('i32.load', i32(argumentsAt + (k * 3 + i) * 4));
      return {
        dtype,
        walk: signature.walks[k]!,
        row: f.local('i32', argument(0)),
        rowStep: f.local('i32', argument(1)),
        step: f.local('i32', argument(2)),
        at: f.local('i32'),
        value: f.local('v128'),
      };
    });
    this.#loadAttrs(signature.expr);
    f.countDown(rows, 1, () => this.#row(n));
  }

  /** Attributes become locals before the loops; an int32 and a float32 use are two of them. */
  #loadAttrs(expr: Expr): void {
    for (const name of attrNames(expr)) {
      for (const form of ['f32', 'i32'] as const) {
        const place = this.#cursors.length * 3 + this.attrs.length;
        const value = load('v128.load32_splat', i32(argumentsAt + place * 4));
        this.#attrLocals.set(`${name} ${form}`, this.#f.local('v128', value));
        this.attrs.push({ name, form });
      }
    }
  }

  #row(n: Local): void {
    const f = this.#f;
    const left = f.local('i32', get(n));
    for (const cursor of this.#cursors) {
      f.set(cursor.at, get(cursor.row));
      if (cursor.walk === 'fixed') f.set(cursor.value, loadOne(cursor.dtype, get(cursor.at)));
    }
    f.countDown(left, 4, () => {
      for (const cursor of this.#cursors.slice(1)) this.#loadFour(cursor);
      this.#storeFour(this.#cursors[0]!, this.#compute());
      for (const cursor of this.#cursors) this.#advance(cursor, 4);
    });
    f.countDown(left, 1, () => {
      for (const cursor of this.#cursors.slice(1)) {
        if (cursor.walk === 'fixed') continue;
        f.set(cursor.value, loadOne(cursor.dtype, get(cursor.at)));
      }
      // The same vector code on four copies of one element: tails have the same bits.
      this.#storeLane(this.#cursors[0]!, this.#compute(), 0);
      for (const cursor of this.#cursors) this.#advance(cursor, 1);
    });
    for (const cursor of this.#cursors) f.add(cursor.row, get(cursor.rowStep));
  }

  #advance(cursor: Cursor, elements: number): void {
    const { bytes } = dtypes[cursor.dtype];
    if (cursor.walk === 'contiguous') this.#f.add(cursor.at, elements * bytes);
    if (cursor.walk !== 'strided') return;
    for (let i = 0; i < elements; i++) this.#f.add(cursor.at, get(cursor.step));
  }

  #loadFour(cursor: Cursor): void {
    const f = this.#f;
    const { dtype, walk, at, value } = cursor;
    if (walk === 'contiguous') f.set(value, loadContiguous(dtype, get(at)));
    if (walk !== 'strided') return;
    f.set(value, loadOne(dtype, get(at)));
    const place = f.local('i32', get(at));
    for (let i = 1; i < 4; i++) {
      f.add(place, get(cursor.step));
      const replaced =
        dtype === 'bool'
          ? lane('i32x4.replace_lane', i, get(value), load('i32.load8_u', get(place)))
          : memoryLane('v128.load32_lane', get(place), get(value), i);
      f.set(value, replaced);
    }
  }

  /** The result in the output's form: numbers, or 0 and 1 for bool. */
  #compute(): Local {
    const { expr, dtypes: kinds } = this.#signature;
    const emitter = new ExprEmitter(this.#f, expr, kinds.slice(1), {
      input: (index) => this.#cursors[index + 1]!.value,
      attr: (name, form) => this.#attrLocals.get(`${name} ${form}`)!,
    });
    const [output] = this.#cursors;
    if (output!.dtype === 'float32') return emitter.emit(expr, 'f32');
    if (output!.dtype === 'int32') return emitter.emit(expr, 'i32');
    const mask = emitter.emit(expr, 'mask');
    return this.#f.local('v128', op('v128.and', get(mask), i32x4(1)));
  }

  #storeFour(cursor: Cursor, value: Local): void {
    const f = this.#f;
    if (cursor.walk === 'contiguous' && cursor.dtype === 'bool') {
      const words = op('i16x8.narrow_i32x4_s', get(value), get(value));
      const bytes = op('i8x16.narrow_i16x8_s', words, words);
      f.emit(memoryLane('v128.store32_lane', get(cursor.at), bytes, 0));
      return;
    }
    if (cursor.walk === 'contiguous') {
      f.emit(store('v128.store', get(cursor.at), get(value)));
      return;
    }
    const place = f.local('i32', get(cursor.at));
    for (let i = 0; i < 4; i++) {
      this.#storeLane({ ...cursor, at: place }, value, i);
      f.add(place, get(cursor.step));
    }
  }

  /** Byte lanes count bytes: element i of an int32 vector has its low byte in lane 4·i. */
  #storeLane(cursor: Cursor, value: Local, index: number): void {
    const code =
      cursor.dtype === 'bool'
        ? memoryLane('v128.store8_lane', get(cursor.at), get(value), index * 4)
        : memoryLane('v128.store32_lane', get(cursor.at), get(value), index);
    this.#f.emit(code);
  }
}

function attrNames(expr: Expr): Set<string> {
  return new Set(nodesOf(expr).flatMap((node) => (node.kind === 'attr' ? [node.name] : [])));
}

export function compilePointwise(signature: PointwiseSignature): PointwiseKernel {
  let attrs: PointwiseKernel['attrs'] = [];
  const { run } = compile({
    run: (f) => {
      ({ attrs } = new PointwiseWriter(f, signature));
    },
  });
  return { run: run as PointwiseKernel['run'], attrs };
}
