import type { Expr } from '../../../ops/expr/expr.ts';
import { nodesOf } from '../../../ops/expr/expr-nodes.ts';
import { inPrecision, isDouble } from '../../../ops/expr/expr-precision.ts';
import type { DType } from '../../../spec/dtype.ts';
import { argumentsAt } from '../core/scratch.ts';
import { type Code, i32, load } from './assembler/code.ts';
import { type Cursor, Elements, type Walk, type Width } from './assembler/elements.ts';
import { ExprEmitter, type NumberForm } from './assembler/expr-emitter.ts';
import { type FunctionBuilder, get, type Local } from './assembler/function-builder.ts';
import { compile } from './assembler/module-builder.ts';

/** The signature that a pointwise kernel is specialized for. Operand 0 is the output. */
interface PointwiseSignature {
  readonly expr: Expr;
  readonly dtypes: readonly DType[];
  readonly walks: readonly Walk[];
}

/**
 * Runs `rows` times over `n` elements. The arguments are in memory, four bytes each: from address `at` on, for
 * each operand its address, its bytes between rows and between elements; at a fixed location (`attrsAt`), the
 * attributes.
 */
export interface PointwiseKernel {
  readonly run: (at: number, n: number, rows: number) => void;
  /** Attributes in the order of their locations. */
  readonly attrs: readonly AttrPlace[];
  /** The approximate nanoseconds per element. */
  readonly nanoseconds: number;
}

/** Returns the location of the attributes of a kernel with this many operands, including the output. */
function attrsAt(operands: number): number {
  return argumentsAt + operands * 12;
}

/** An attribute among a kernel's arguments. */
interface AttrPlace {
  readonly name: string;
  /** float64 takes two words. */
  readonly form: NumberForm;
}

export interface RowCursor extends Cursor {
  /** The first element of the row. */
  readonly row: Local;
  readonly rowStep: Local;
}

/** Loads operand `k` from the arguments at address `at`. */
export function rowCursor(
  f: FunctionBuilder,
  at: Local,
  k: number,
  { dtype, walk }: Pick<Cursor, 'dtype' | 'walk'>,
): RowCursor {
  const argument = (i: number) => load('i32.load', get(at), (k * 3 + i) * 4);
  return {
    dtype,
    walk,
    row: f.local('i32', argument(0)),
    rowStep: f.local('i32', argument(1)),
    step: f.local('i32', argument(2)),
    at: f.local('i32'),
    value: f.local('v128'),
  };
}

/** The attributes that a kernel reads, in the forms that it computes with: each is loaded once, before its loops. */
export class KernelAttrs {
  /** In the order of their locations. */
  readonly places: AttrPlace[] = [];
  readonly #f: FunctionBuilder;
  readonly #loaded = new Map<string, Code>();
  #next: number;

  constructor(f: FunctionBuilder, operands: number) {
    this.#f = f;
    this.#next = attrsAt(operands);
  }

  of(name: string, form: NumberForm): Code {
    const key = `${name} ${form}`;
    let value = this.#loaded.get(key);
    if (!value) {
      const isWide = form === 'f64';
      const at = i32(this.#next);
      value = this.#f.constant(load(isWide ? 'v128.load64_splat' : 'v128.load32_splat', at));
      this.#loaded.set(key, value);
      this.places.push({ name, form });
      this.#next += isWide ? 8 : 4;
    }
    return value;
  }
}

class PointwiseWriter {
  readonly attrs: KernelAttrs;
  readonly #f: FunctionBuilder;
  readonly #signature: PointwiseSignature;
  readonly #cursors: readonly RowCursor[];
  readonly #elements: Elements;
  readonly #width: Width;

  constructor(f: FunctionBuilder, signature: PointwiseSignature) {
    this.#f = f;
    this.#signature = signature;
    this.#width = isDouble(signature.dtypes) ? 2 : 4;
    this.#elements = new Elements(f, this.#width);
    const at = f.param();
    const n = f.param();
    const rows = f.param();
    this.#cursors = signature.dtypes.map((dtype, k) =>
      rowCursor(f, at, k, { dtype, walk: signature.walks[k]! }),
    );
    this.attrs = new KernelAttrs(f, this.#cursors.length);
    f.countDown(rows, 1, () => this.#row(n));
  }

  #row(n: Local): void {
    const f = this.#f;
    const elements = this.#elements;
    const left = f.local('i32', get(n));
    for (const cursor of this.#cursors) {
      f.set(cursor.at, get(cursor.row));
      if (cursor.walk === 'fixed') elements.loadOne(cursor);
    }
    const next = elements.next(this.#cursors);
    if (next) this.#vectors(left, [this.#cursors, next]);
    this.#vectors(left, [this.#cursors]);
    f.countDown(left, 1, () => {
      for (const cursor of this.#cursors.slice(1)) {
        if (cursor.walk === 'fixed') continue;
        elements.loadOne(cursor);
      }
      // Tails run the same vector code, on copies of one element, so that they get the same bits.
      elements.storeLane(this.#cursors[0]!, this.#compute(this.#cursors), 0);
      for (const cursor of this.#cursors) elements.advance(cursor, 1);
    });
    for (const cursor of this.#cursors) f.add(cursor.row, get(cursor.rowStep));
  }

  /** Writes a loop with one or two vectors per iteration. */
  #vectors(left: Local, vectors: readonly (readonly RowCursor[])[]): void {
    const elements = this.#elements;
    const count = vectors.length * this.#width;
    this.#f.countDown(left, count, () => {
      for (const cursors of vectors) {
        for (const cursor of cursors.slice(1)) elements.loadVector(cursor);
      }
      // Stores come last, because engines don't join stores across a load.
      const results = vectors.map((cursors) => this.#compute(cursors));
      for (const [i, [out]] of vectors.entries()) elements.storeVector(out!, results[i]!);
      for (const cursor of this.#cursors) elements.advance(cursor, count);
    });
  }

  #compute(cursors: readonly RowCursor[]): Local {
    const { dtypes: kinds } = this.#signature;
    const expr = inPrecision(this.#signature.expr, this.#width === 2 ? 'double' : 'single');
    const emitter = new ExprEmitter(this.#f, expr, kinds.slice(1), {
      input: (index) => cursors[index + 1]!.value,
      attr: (name, form) => this.attrs.of(name, form),
    });
    return this.#elements.stored(emitter, expr, kinds[0]!);
  }
}

export function compilePointwise(signature: PointwiseSignature): PointwiseKernel {
  let attrs: PointwiseKernel['attrs'] = [];
  const { run } = compile({
    run: (f) => {
      attrs = new PointwiseWriter(f, signature).attrs.places;
    },
  });
  const nanoseconds = nanosecondsOf(signature);
  return { run: run as PointwiseKernel['run'], attrs, nanoseconds };
}

/**
 * Estimates the time per element: instructions take 0.05 ns, functions about 1, in float64 about 4, JavaScript
 * functions 20. A power takes 1 or 50, depending on its exponent, which is known at launch.
 */
export function nanosecondsOf({
  expr,
  dtypes: kinds,
}: Pick<PointwiseSignature, 'expr' | 'dtypes'>): number {
  const isInDouble = isDouble(kinds);
  const costs = nodesOf(inPrecision(expr, isInDouble ? 'double' : 'single')).map((node): number => {
    if (node.kind === 'double' || (node.kind === 'binary' && node.fn === 'rem')) return 20;
    if (node.kind === 'binary' && node.fn === 'pow') return 7;
    if (node.kind !== 'unary' || !functionNames.has(node.fn)) return 0.05;
    if (!isInDouble) return 1;
    return inJavaScript.has(node.fn) ? 20 : 4;
  });
  return costs.reduce((a, b) => a + b, isInDouble ? 0.6 : 0.2);
}

/** Functions that JavaScript computes in float64. */
const inJavaScript: ReadonlySet<string> = new Set(['exp2', 'log2', 'sin', 'cos']);
const functionNames: ReadonlySet<string> = new Set([...inJavaScript, 'exp', 'log', 'tanh']);
