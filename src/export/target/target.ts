import type { AttrValue } from '../../../runtime/device/kernel-op.ts';
import type { TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import type { SymbolicNumber } from '../../../runtime/ops/numbers/symbolic-number.ts';
import type { OpRecord } from '../../../runtime/ops/record/define-op.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import type { DType } from '../../../runtime/spec/dtype.ts';
import type { Dim, Dims } from './dims.ts';
import type { SizeAttr } from './symbolic-sizes.ts';

/**
 * Element types of other engines that programs need; unsigned and 64-bit integers are used for random counters and
 * sizes.
 */
export type Element =
  | 'i1'
  | 'ui8'
  | 'i32'
  | 'i64'
  | 'f16'
  | 'bf16'
  | 'f32'
  | 'f64'
  | 'ui32'
  | 'ui64';

export const elementOf: { readonly [D in DType]: Element } = {
  bool: 'i1',
  uint8: 'ui8',
  int32: 'i32',
  float16: 'f16',
  bfloat16: 'bf16',
  float32: 'f32',
  float64: 'f64',
};

/** The properties common to the values of all targets. */
export interface TargetValue {
  readonly id: string;
  readonly element: Element;
  readonly shape: Dims;
}

export type UnaryName =
  | 'abs'
  | 'ceil'
  | 'cosine'
  | 'cbrt'
  | 'exponential'
  | 'exponential_minus_one'
  | 'floor'
  | 'log'
  | 'log_plus_one'
  | 'negate'
  | 'round_nearest_even'
  | 'sign'
  | 'sine'
  | 'sqrt'
  | 'tanh';

export type BinaryName =
  | 'add'
  | 'subtract'
  | 'multiply'
  | 'divide'
  | 'maximum'
  | 'minimum'
  | 'power'
  | 'remainder'
  | 'atan2';

export type Direction = 'EQ' | 'NE' | 'LT' | 'LE' | 'GT' | 'GE';

/** Arithmetic of an engine on whole tensors; each call emits ops that compute its result. */
export interface ArithmeticTarget<V extends TargetValue> {
  constant(value: number, element: Element, shape?: Dims): V;
  convert(x: V, element: Element): V;
  /** Expands an operand to the shape of its reader; engines that broadcast return it unchanged. */
  spread(x: V, shape: Dims): V;
  unary(name: UnaryName, x: V): V;
  binary(name: BinaryName, x: V, y: V): V;
  compare(direction: Direction, x: V, y: V): V;
  select(test: V, then: V, otherwise: V): V;
}

export type Reduction = 'sum' | 'prod' | 'max' | 'min' | 'mean';

/** Changes of shape, reductions and products: the ops that all engines lower in the same way. */
export interface TensorTarget<V extends TargetValue> extends ArithmeticTarget<V> {
  /** The name of the target format. */
  readonly form: string;
  /** A constant, given element by element in row-major order. */
  literal(values: ArrayLike<number>, element: Element, shape: readonly number[]): V;
  /** 0 to size − 1. */
  iota(size: Dim, element: Element): V;
  zeros(element: Element, shape: Dims): V;
  /** A number computed from sizes, float64 []. */
  sizeNumber(size: Dim): V;
  reshape(x: V, shape: Dims): V;
  /** Expands the operand; dimensions are matched from the last one on. */
  expand(x: V, shape: Dims): V;
  transpose(x: V, dims: readonly number[]): V;
  /** Entries `start` to `end` of one dimension, `size` of them. */
  slice(x: V, dim: number, start: Dim, end: Dim, size: Dim): V;
  /** Entries of one dimension from a computed position on. */
  sliceFrom(x: V, dim: number, start: V, size: Dim): V;
  padZeros(x: V, low: Dims, high: Dims): V;
  concatenate(parts: readonly V[], dim: number, size: Dim): V;
  /** Reduces dimensions, dropping them or keeping size 1. */
  reduce(name: Reduction, x: V, dims: readonly number[], keepDims?: boolean): V;
  /** Entries of one dimension at constant positions. */
  entriesAt(x: V, dim: number, places: Int32Array): V;
  /** The row-major tensor with the elements at constant positions replaced by those of `source`. */
  withElementsAt(x: V, places: Int32Array, source: V): V;
  /** Products of matrices, [batch…, m, k] and [batch…, k, n] or [k, n]. */
  matmul(a: V, b: V): V;
}

/** A known attribute, or one that depends on sizes of the call. */
export type OpAttr = AttrValue | SizeAttr;

/** One op of a program that is lowered for another engine. */
export interface OpCall<V extends TargetValue> {
  readonly op: OpRecord;
  /** Values of the operands, including those read only for their shapes. */
  readonly inputs: readonly V[];
  /** Row-major from the first element on: positions in memory are irrelevant here. */
  readonly metas: readonly TensorMeta[];
  readonly outputs: readonly { readonly dtype: DType; readonly shape: V['shape'] }[];
  readonly attrs: Readonly<Record<string, OpAttr>>;
  /** Attributes that the program computes itself, float64 [], replacing those of `attrs`. */
  readonly computed?: Readonly<Record<string, V>>;
  readonly number: (symbol: SymbolicNumber) => V;
}

/** An engine that programs are lowered to. */
export interface Engine<V extends TargetValue> extends TensorTarget<V> {
  /** Input number `index` of the whole program. */
  argument(index: number, name: string, element: Element, shape: V['shape']): V;
  shapeOf(program: Pick<Program, 'values'>, id: ValueId): V['shape'];
  /** How many random numbers a run draws, float64 []. */
  randomCount(count: number): V;
  attrsOf(op: ProgramOp): Readonly<Record<string, OpAttr>>;
  /** Emits an op and returns its results. Throws ArgumentError that names an unsupported op. */
  emit(call: OpCall<V>): readonly V[];
  /** `branches`: emitted for true and for false; they see the surrounding values. */
  branch(condition: V, branches: readonly (() => readonly V[])[]): readonly V[];
  /** Runs the body while the condition holds for the loop-carried values. */
  loop(
    carried: readonly V[],
    condition: (carried: readonly V[]) => V,
    body: (carried: readonly V[]) => readonly V[],
  ): readonly V[];
  /** Null if this engine has no gradients through branches and loops. */
  readonly gradients: GradientArithmetic<V> | null;
  /** Tables whose rows are written and read one by one; null if this engine has no gradients of loops. */
  readonly rows: RowTables<V> | null;
}

/** The additional operations that optional gradients need. */
export interface GradientArithmetic<V extends TargetValue> {
  /** A number in every element of a type. */
  filled(type: Pick<V, 'element' | 'shape'>, value: number): V;
  /** The conjunction of two booleans. */
  and(x: V, y: V): V;
  or(x: V, y: V): V;
}

/** Tables [rows, ...shape of a row]; a row's index is i32 []. */
export interface RowTables<V extends TargetValue> {
  /** The number of rows of a table: the most iterations of a loop. */
  readonly count: number;
  /** Returns the table with one row replaced; an index past the last row writes to that row. */
  write(table: V, row: V, number: V): V;
  read(table: V, number: V): V;
}

/** Returns the element type in which halves and small integers are summed. */
export const wideElement = (element: Element): Element =>
  element === 'f16' || element === 'bf16'
    ? 'f32'
    : element === 'ui8' || element === 'i1'
      ? 'i32'
      : element;

export const isFloat = (element: Element): boolean =>
  ['f16', 'bf16', 'f32', 'f64'].includes(element);
