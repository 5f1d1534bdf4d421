import type { Expr } from '../../../ops/expr.ts';
import { nodesOf } from '../../../ops/expr-nodes.ts';
import { inPrecision, isDouble } from '../../../ops/expr-precision.ts';
import { type DType, dtypes } from '../../../tensor/dtype.ts';
import { isHalf } from '../../../tensor/half.ts';
import { argumentsAt } from '../scratch.ts';
import { type Code, i32, i32x4, lane, load, memoryLane, op, store } from './code.ts';
import { ExprEmitter, type NumberForm } from './expr-emitter.ts';
import { type FunctionBuilder, get, type Local } from './function-builder.ts';
import { emitDecode, emitEncode } from './half.ts';
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
 * Runs `rows` times over `n` elements. The arguments lie in memory, four bytes each: from address `at` on per
 * operand its address, bytes from row to row and bytes from element to element; at a place that is always the
 * same (`attrsAt`) the attributes.
 */
export interface PointwiseKernel {
  readonly run: (at: number, n: number, rows: number) => void;
  /** Attributes in the order of their places. */
  readonly attrs: readonly AttrPlace[];
  /** About how long an element takes, in nanoseconds. */
  readonly nanoseconds: number;
}

/** Where the attributes of a kernel with so many operands lie, the output counted. */
export function attrsAt(operands: number): number {
  return argumentsAt + operands * 12;
}

interface AttrPlace {
  readonly name: string;
  /** float64 takes two words. */
  readonly form: NumberForm;
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

/** Loads one element of any dtype into all lanes; of a half its bits. */
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
function loadContiguous(dtype: DType, address: Code, width: Width): Code {
  if (isHalf(dtype)) {
    const halves = load(width === 4 ? 'v128.load64_zero' : 'v128.load32_zero', address);
    return op('i32x4.extend_low_i16x8_u', halves);
  }
  if (dtypes[dtype].bytes === 1) {
    const bytes = load(width === 4 ? 'v128.load32_zero' : 'v128.load16_splat', address);
    return op('i32x4.extend_low_i16x8_u', op('i16x8.extend_low_i8x16_u', bytes));
  }
  const whole = width === 4 || dtype === 'float64';
  return load(whole ? 'v128.load' : 'v128.load64_zero', address);
}

/** The element as lane `index` of the vector. */
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

/** Elements that a kernel computes at once: four, or two when one of its dtypes is float64. */
type Width = 4 | 2;

class PointwiseWriter {
  readonly attrs: AttrPlace[] = [];
  readonly #f: FunctionBuilder;
  readonly #signature: PointwiseSignature;
  readonly #cursors: readonly Cursor[];
  readonly #attrLocals = new Map<string, Local>();
  readonly #width: Width;

  constructor(f: FunctionBuilder, signature: PointwiseSignature) {
    this.#f = f;
    this.#signature = signature;
    this.#width = isDouble(signature.dtypes) ? 2 : 4;
    const at = f.param();
    const n = f.param();
    const rows = f.param();
    this.#cursors = signature.dtypes.map((dtype, k) => {
      const argument = (i: number) => load('i32.load', get(at), (k * 3 + i) * 4);
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
    let place = attrsAt(this.#cursors.length);
    for (const name of attrNames(expr)) {
      for (const form of this.#width === 4 ? singleForms : doubleForms) {
        const isDouble = form === 'f64';
        const value = load(isDouble ? 'v128.load64_splat' : 'v128.load32_splat', i32(place));
        this.#attrLocals.set(`${name} ${form}`, this.#f.local('v128', value));
        this.attrs.push({ name, form });
        place += isDouble ? 8 : 4;
      }
    }
  }

  #row(n: Local): void {
    const f = this.#f;
    const left = f.local('i32', get(n));
    for (const cursor of this.#cursors) {
      f.set(cursor.at, get(cursor.row));
      if (cursor.walk === 'fixed') this.#take(cursor, loadOne(cursor.dtype, get(cursor.at)));
    }
    f.countDown(left, this.#width, () => {
      for (const cursor of this.#cursors.slice(1)) this.#loadVector(cursor);
      this.#storeVector(this.#cursors[0]!, this.#compute());
      for (const cursor of this.#cursors) this.#advance(cursor, this.#width);
    });
    f.countDown(left, 1, () => {
      for (const cursor of this.#cursors.slice(1)) {
        if (cursor.walk === 'fixed') continue;
        this.#take(cursor, loadOne(cursor.dtype, get(cursor.at)));
      }
      // The same vector code on copies of one element: tails have the same bits.
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

  /** The cursor's value, halves as float32. */
  #take({ dtype, value }: Cursor, loaded: Code): void {
    this.#f.set(value, loaded);
    if (isHalf(dtype)) this.#f.set(value, emitDecode(this.#f, dtype, value));
  }

  #loadVector(cursor: Cursor): void {
    const f = this.#f;
    const { dtype, walk, at, value } = cursor;
    if (walk === 'contiguous') this.#take(cursor, loadContiguous(dtype, get(at), this.#width));
    if (walk !== 'strided') return;
    f.set(value, loadOne(dtype, get(at)));
    const place = f.local('i32', get(at));
    for (let i = 1; i < this.#width; i++) {
      f.add(place, get(cursor.step));
      f.set(value, loadLane(dtype, get(place), get(value), i));
    }
    this.#take(cursor, get(value));
  }

  /** The result as it is stored: numbers, 0 and 1 for bool, bits of halves, bytes of uint8. */
  #compute(): Local {
    const { dtypes: kinds } = this.#signature;
    const expr = inPrecision(this.#signature.expr, this.#width === 2 ? 'double' : 'single');
    const emitter = new ExprEmitter(this.#f, expr, kinds.slice(1), {
      input: (index) => this.#cursors[index + 1]!.value,
      attr: (name, form) => this.#attrLocals.get(`${name} ${form}`)!,
    });
    const [output] = this.#cursors;
    const { dtype } = output!;
    if (isHalf(dtype)) {
      return this.#f.local('v128', emitEncode(this.#f, dtype, emitter.emit(expr, 'f32')));
    }
    if (dtype === 'uint8') {
      const bytes = op('v128.and', get(emitter.emit(expr, 'i32')), this.#f.constant(i32x4(255)));
      return this.#f.local('v128', bytes);
    }
    if (dtype !== 'bool') return emitter.emit(expr, formOf[dtype]);
    const mask = emitter.emit(expr, 'mask');
    return this.#f.local('v128', op('v128.and', get(mask), i32x4(1)));
  }

  #storeVector(cursor: Cursor, value: Local): void {
    const f = this.#f;
    const width = this.#width;
    const { dtype } = cursor;
    if (cursor.walk === 'contiguous' && dtypes[dtype].bytes < 4) {
      const words = op('i16x8.narrow_i32x4_u', get(value), get(value));
      const isByte = dtypes[dtype].bytes === 1;
      const stored = isByte ? op('i8x16.narrow_i16x8_u', words, words) : words;
      const name = narrowStores[(width * dtypes[dtype].bytes) as 2 | 4 | 8];
      f.emit(memoryLane(name, get(cursor.at), stored, 0));
      return;
    }
    if (cursor.walk === 'contiguous') {
      const whole = width === 4 || dtype === 'float64';
      f.emit(
        whole
          ? store('v128.store', get(cursor.at), get(value))
          : memoryLane('v128.store64_lane', get(cursor.at), get(value), 0),
      );
      return;
    }
    const place = f.local('i32', get(cursor.at));
    for (let i = 0; i < width; i++) {
      this.#storeLane({ ...cursor, at: place }, value, i);
      f.add(place, get(cursor.step));
    }
  }

  /** Byte lanes count bytes: element i of an int32 vector has its low byte in lane 4·i. */
  #storeLane(cursor: Cursor, value: Local, index: number): void {
    const [name, byteLane] = laneStores[cursor.dtype];
    this.#f.emit(memoryLane(name, get(cursor.at), get(value), byteLane * index));
  }
}

const singleForms: readonly NumberForm[] = ['f32', 'i32'];
const doubleForms: readonly NumberForm[] = ['f32', 'i32', 'f64'];

const formOf = { float32: 'f32', float64: 'f64', int32: 'i32' } as const;

/** The instruction that stores so many bytes from the start of a vector. */
const narrowStores = {
  2: 'v128.store16_lane',
  4: 'v128.store32_lane',
  8: 'v128.store64_lane',
} as const;

/** The instruction that stores one element, and how many of its lanes an element has. */
const laneStores = {
  bool: ['v128.store8_lane', 4],
  uint8: ['v128.store8_lane', 4],
  float16: ['v128.store16_lane', 2],
  bfloat16: ['v128.store16_lane', 2],
  int32: ['v128.store32_lane', 1],
  float32: ['v128.store32_lane', 1],
  float64: ['v128.store64_lane', 1],
} as const satisfies { readonly [D in DType]: readonly [string, number] };

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
  const nanoseconds = nanosecondsOf(signature);
  return { run: run as PointwiseKernel['run'], attrs, nanoseconds };
}

/** Instructions of an element take a tenth of a nanosecond, functions about one, JavaScript's own twenty. */
function nanosecondsOf({ expr, dtypes: kinds }: PointwiseSignature): number {
  const functions = isDouble(kinds) ? 20 : 1;
  const costs = nodesOf(expr).map((node): number => {
    if (node.kind === 'double') return 20;
    if (node.kind === 'binary') return node.fn === 'pow' || node.fn === 'rem' ? 20 : 0.1;
    const isFunction = node.kind === 'unary' && functionNames.has(node.fn);
    return isFunction ? functions : 0.1;
  });
  return costs.reduce((a, b) => a + b, 0.3);
}

const functionNames: ReadonlySet<string> = new Set([
  ...['exp', 'exp2', 'log', 'log2', 'tanh', 'sin', 'cos'],
]);
