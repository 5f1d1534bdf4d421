import type { Expr } from '../../../../ops/expr/expr.ts';
import { type DType, dtypes } from '../../../../spec/dtype.ts';
import { isHalf } from '../../../../spec/half.ts';
import { type Code, i32x4, lane, load, memoryLane, op, store } from './code.ts';
import type { ExprEmitter } from './expr-emitter.ts';
import { type FunctionBuilder, get, type Local } from './function-builder.ts';
import { emitDecode, emitEncode } from './half.ts';
import { wideVectors } from './wide-vectors.ts';

/** An operand's traversal of the inner loop: adjacent elements, a fixed one, or strided ones. */
export type Walk = 'contiguous' | 'fixed' | 'strided';

/** The number of elements that a kernel computes together: four, or two if one of its dtypes is float64. */
export type Width = 4 | 2;

/** An operand in the inner loop. */
export interface Cursor {
  readonly dtype: DType;
  readonly walk: Walk;
  /** Bytes between elements. */
  readonly step: Local;
  /** The current element. */
  readonly at: Local;
  /** The current vector. */
  readonly value: Local;
  /** Bytes from the current element to the vector. */
  readonly ahead?: number;
}

/** Loads one element of any dtype into all lanes; half precision as bits. */
function loadOne(dtype: DType, address: Code): Code {
  switch (dtype) {
    case 'bool':
    case 'uint8':
      return op('i32x4.splat', load('i32.load8_u', address));
    case 'float16':
    case 'bfloat16':
      return op('i32x4.splat', load('i32.load16_u', address));
    case 'float64':
      return load('v128.load64_splat', address);
    case 'int32':
    case 'float32':
      return load('v128.load32_splat', address);
  }
}

/** Two elements of float32 or int32 fill the lower half. */
function loadContiguous(dtype: DType, address: Code, width: Width, ahead: number): Code {
  if (isHalf(dtype)) {
    const halves = load(width === 4 ? 'v128.load64_zero' : 'v128.load32_zero', address, ahead);
    return op('i32x4.extend_low_i16x8_u', halves);
  }
  if (dtypes[dtype].bytes === 1) {
    const bytes = load(width === 4 ? 'v128.load32_zero' : 'v128.load16_splat', address, ahead);
    return op('i32x4.extend_low_i16x8_u', op('i16x8.extend_low_i8x16_u', bytes));
  }
  const whole = width === 4 || dtype === 'float64';
  return load(whole ? 'v128.load' : 'v128.load64_zero', address, ahead);
}

/** Loads the element as lane `index` of the vector. */
function loadLane(dtype: DType, address: Code, vector: Code, index: number): Code {
  switch (dtype) {
    case 'bool':
    case 'uint8':
      return lane('i32x4.replace_lane', index, vector, load('i32.load8_u', address));
    case 'float16':
    case 'bfloat16':
      return lane('i32x4.replace_lane', index, vector, load('i32.load16_u', address));
    case 'float64':
      return memoryLane('v128.load64_lane', address, vector, index);
    case 'int32':
    case 'float32':
      return memoryLane('v128.load32_lane', address, vector, index);
  }
}

/** Loads and stores elements of any dtype, as vectors or one at a time. */
export class Elements {
  readonly #f: FunctionBuilder;
  readonly #width: Width;

  constructor(f: FunctionBuilder, width: Width) {
    this.#f = f;
    this.#width = width;
  }

  /** Returns cursors for the next vector if the engine joins it with that of `cursors` (`pairVectors`). */
  next<C extends Cursor>(cursors: readonly C[]): readonly C[] | undefined {
    return wideVectors.next?.(this.#f, cursors, this.#width) as readonly C[] | undefined;
  }

  /** Advances a cursor by this many elements. */
  advance(cursor: Cursor, elements: number): void {
    const { bytes } = dtypes[cursor.dtype];
    if (cursor.walk === 'contiguous') this.#f.add(cursor.at, elements * bytes);
    if (cursor.walk !== 'strided') return;
    for (let i = 0; i < elements; i++) this.#f.add(cursor.at, get(cursor.step));
  }

  /** Sets the cursor's value, half precision as float32. */
  #take({ dtype, value }: Cursor, loaded: Code): void {
    this.#f.set(value, loaded);
    if (isHalf(dtype)) this.#f.set(value, emitDecode(this.#f, dtype, value));
  }

  /** Does nothing for a fixed operand, which is loaded once per row. */
  loadVector(cursor: Cursor): void {
    const f = this.#f;
    const { dtype, walk, at, value, ahead = 0 } = cursor;
    if (walk === 'contiguous') {
      this.#take(cursor, loadContiguous(dtype, get(at), this.#width, ahead));
    }
    if (walk !== 'strided') return;
    f.set(value, loadOne(dtype, get(at)));
    const place = f.local('i32', get(at));
    for (let i = 1; i < this.#width; i++) {
      f.add(place, get(cursor.step));
      f.set(value, loadLane(dtype, get(place), get(value), i));
    }
    this.#take(cursor, get(value));
  }

  /** Loads one element into all lanes. */
  loadOne(cursor: Cursor): void {
    this.#take(cursor, loadOne(cursor.dtype, get(cursor.at)));
  }

  /** Returns an expression's value as stored: numbers, 0 and 1 for bool, bits for half precision, bytes for uint8. */
  stored(emitter: ExprEmitter, expr: Expr, dtype: DType): Local {
    const f = this.#f;
    if (isHalf(dtype)) return f.local('v128', emitEncode(f, dtype, emitter.emit(expr, 'f32')));
    if (dtype === 'uint8') {
      const bytes = op('v128.and', get(emitter.emit(expr, 'i32')), f.constant(i32x4(255)));
      return f.local('v128', bytes);
    }
    if (dtype !== 'bool') return emitter.emit(expr, formOf[dtype]);
    const mask = emitter.emit(expr, 'mask');
    return f.local('v128', op('v128.and', get(mask), i32x4(1)));
  }

  storeVector(cursor: Cursor, value: Local): void {
    const f = this.#f;
    const width = this.#width;
    const { dtype, ahead } = cursor;
    if (cursor.walk === 'contiguous' && dtypes[dtype].bytes < 4) {
      const words = op('i16x8.narrow_i32x4_u', get(value), get(value));
      const isByte = dtypes[dtype].bytes === 1;
      const stored = isByte ? op('i8x16.narrow_i16x8_u', words, words) : words;
      const name = narrowStores[(width * dtypes[dtype].bytes) as 2 | 4 | 8];
      f.emit(memoryLane(name, get(cursor.at), stored, 0, ahead));
      return;
    }
    if (cursor.walk === 'contiguous') {
      const whole = width === 4 || dtype === 'float64';
      f.emit(
        whole
          ? store('v128.store', get(cursor.at), get(value), ahead)
          : memoryLane('v128.store64_lane', get(cursor.at), get(value), 0, ahead),
      );
      return;
    }
    const place = f.local('i32', get(cursor.at));
    for (let i = 0; i < width; i++) {
      this.storeLane({ ...cursor, at: place }, value, i);
      f.add(place, get(cursor.step));
    }
  }

  /** Byte lanes are numbered by bytes: element i of an int32 vector has its low byte in lane 4·i. */
  storeLane(cursor: Cursor, value: Local, index: number): void {
    const [name, byteLane] = laneStores[cursor.dtype];
    this.#f.emit(memoryLane(name, get(cursor.at), get(value), byteLane * index));
  }
}

const formOf = { float32: 'f32', float64: 'f64', int32: 'i32' } as const;

/** Instructions that store this many bytes from the start of a vector. */
const narrowStores = {
  2: 'v128.store16_lane',
  4: 'v128.store32_lane',
  8: 'v128.store64_lane',
} as const;

/** Instructions that store one element, and how many of their lanes an element takes. */
const laneStores = {
  bool: ['v128.store8_lane', 4],
  uint8: ['v128.store8_lane', 4],
  float16: ['v128.store16_lane', 2],
  bfloat16: ['v128.store16_lane', 2],
  int32: ['v128.store32_lane', 1],
  float32: ['v128.store32_lane', 1],
  float64: ['v128.store64_lane', 1],
} as const satisfies { readonly [D in DType]: readonly [string, number] };
