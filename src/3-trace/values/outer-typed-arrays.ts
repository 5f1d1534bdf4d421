/** Elements of pre-existing typed arrays: reads are guarded, writes happen after the run. */

import type { TypedArray } from '../../../runtime/spec/dtype.ts';
import { isProxy } from '../../guards/plain.ts';
import type { Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import {
  type TypedArrayConstructor,
  typedArrayTypes,
} from '../../guards/types/typed-array-types.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { BinaryOperator } from '../../vm/bytecode/instructions.ts';
import { binary } from '../../vm/bytecode/operators.ts';
import { scalarBinary, scalarCall } from '../control-flow/numbers/scalars.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf, sourceOf } from '../state/value-guards.ts';
import { kindName } from '../variables/kind-names.ts';
import { specialized } from '../variables/unions.ts';
import {
  type FunctionVariable,
  known,
  type ObjectVariable,
  type Variable,
} from '../variables/variable.ts';
import { deferCall, deferOperator } from './numbers.ts';

/**
 * Returns whether the value is an instance of a built-in typed array other than BigInt ones, over an `ArrayBuffer`
 * of its own realm.
 */
export function isOuterTypedArray(variable: ObjectVariable | FunctionVariable): boolean {
  const { value } = variable;
  if (!ArrayBuffer.isView(value) || isProxy(value)) return false;
  const type = (Object.getPrototypeOf(value) as object).constructor;
  const { buffer } = value as ArrayBufferView;
  return typedArrayTypes.has(type) && Object.getPrototypeOf(buffer) === ArrayBuffer.prototype;
}

/** Guards that a value is a typed array, of any type. */
export function guardTypedArray(t: Tracer, variable: Variable): void {
  const base = sourceOf(variable);
  if (!base) return;
  constantOf(t, t.read({ kind: 'query', base, query: 'isTypedArray', key: undefined }, true));
}

/** Must be called for every read of an element: another array that shares the memory may have been written. */
export function touchMemory(t: Tracer, array: ObjectVariable | FunctionVariable): void {
  const { source } = array;
  if (!source || !isOuterTypedArray(array)) return;
  const view = array.value as unknown as TypedArray;
  t.effects.met.touchContent(view.buffer, bufferOf(source));
  expectUnshared(t, view);
}

/** Returns the number that the trace wrote to an element, as the array stores it; undefined if it wrote none. */
export function writtenElement(
  t: Tracer,
  { value, source }: ObjectVariable,
  key: string,
): Variable | undefined {
  const written = t.effects.written(value, source, key);
  return written && stored(t, value as TypedArray, specialized(written));
}

/** `array[index] = value`. An index beyond the end is ignored. */
export function writeOuterElement(
  t: Tracer,
  array: ObjectVariable,
  key: string,
  variable: Variable,
): void {
  const view = array.value as TypedArray;
  const { source } = array;
  const value = numberIn(t, specialized(variable));
  guardType(t, array);
  const length = constantOf(
    t,
    t.read({ kind: 'property', base: source, key: 'length' }, view.length),
  );
  if (Number(key) >= Number(length)) return;
  const paths = t.effects.met.pathsToContent(view.buffer);
  const buffer = bufferOf(source);
  if (t.isInRegion && paths.some((path) => sourceKey(path) !== sourceKey(buffer))) {
    throw new GraphBreak('branch-effect', 'a branch or loop changes memory of two typed arrays');
  }
  expectUnshared(t, view);
  t.effects.met.change(view.buffer, buffer);
  t.effects.write(view, source, key, value);
}

const bufferOf = (source: Source): Source => ({ kind: 'property', base: source, key: 'buffer' });

/**
 * Breaks the graph if another array over the same memory was written: effects are recorded per array, so the write
 * would not be visible here.
 */
function expectUnshared(t: Tracer, view: TypedArray): void {
  for (const [object] of t.effects.entries()) {
    if (object === view || !ArrayBuffer.isView(object) || object.buffer !== view.buffer) continue;
    throw new GraphBreak('object-write', 'two typed arrays share memory that is written');
  }
}

function guardType(t: Tracer, { value, source }: ObjectVariable): void {
  const type = { kind: 'prototypeOf', base: source } as const;
  const memory = { kind: 'prototypeOf', base: bufferOf(source) } as const;
  const guardOn = (base: Source, prototype: object) =>
    t.guard(`identity ${sourceKey(base)}`, { kind: 'identity', source: base, value: prototype });
  guardOn(type, Object.getPrototypeOf(value) as object);
  guardOn(memory, ArrayBuffer.prototype);
}

/** Converts a value to a number, as the engine does on assignment. */
function numberIn(t: Tracer, value: Variable): Variable {
  if (value.kind === 'scalar' || value.kind === 'symbolic') return value;
  const constant = value.kind === 'constant' ? constantOf(t, value) : undefined;
  const converts = value.kind === 'constant' && !['symbol', 'bigint'].includes(typeof constant);
  if (!converts) throw new GraphBreak('object-write', `${kindName(value)} in a typed array`);
  return known(Number(constant));
}

/** Conversions of a number for integer arrays: to its low bits, with their sign. */
const integers = new Map<unknown, (t: Tracer, value: Variable) => Variable>([
  [Int8Array, (t, value) => signed(t, value, 24)],
  [Int16Array, (t, value) => signed(t, value, 16)],
  [Int32Array, (t, value) => combine(t, '|', value, 0)],
  [Uint8Array, (t, value) => combine(t, '&', value, 0xff)],
  [Uint16Array, (t, value) => combine(t, '&', value, 0xffff)],
  [Uint32Array, (t, value) => combine(t, '>>>', value, 0)],
]);

function signed(t: Tracer, value: Variable, bits: number): Variable {
  return combine(t, '>>', combine(t, '<<', value, bits), bits);
}

function combine(t: Tracer, operator: BinaryOperator, value: Variable, by: number): Variable {
  const other = known(by);
  return (
    scalarBinary(t, operator, value, other) ??
    deferOperator(t, operator, [value, other]) ??
    known(binary(operator, constantOf(t, value) as number, by) as number)
  );
}

/** Returns the number that the array stores when the value is assigned. */
function stored(t: Tracer, array: TypedArray, value: Variable): Variable {
  const type = (Object.getPrototypeOf(array) as { readonly constructor: TypedArrayConstructor })
    .constructor;
  if (value.kind === 'constant') return known(type.of(constantOf(t, value) as number)[0]!);
  if (array instanceof Float64Array) return combine(t, '*', value, 1);
  if (array instanceof Float32Array) {
    const rounded = scalarCall(t, Math.fround, [value]) ?? deferCall(t, Math.fround, [value]);
    if (rounded) return rounded;
  }
  const convert = integers.get(type);
  if (convert) return convert(t, value);
  return known(type.of(constantOf(t, value) as number)[0]!);
}
