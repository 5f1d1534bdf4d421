import { formatSpec } from '../device/tensor-meta.ts';
import {
  compileValueTest,
  hasKeys,
  type KeysGuard,
  type NumberGuard,
  type SameGuard,
  type TensorGuard,
  type ValueGuard,
} from '../entry/guard.ts';
import { printNumberOf, type SourceNumber } from '../entry/number-expr.ts';
import { sameShape } from '../spec/shape.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { Field } from './file/field.ts';
import { encodePrimitive, isPrimitiveValue, type Primitive, readPrimitive } from './primitive.ts';
import { encodeNumber, numberReader, readSavedNumber, type SavedNumber } from './recipe.ts';
import {
  type CallValues,
  encodeSource,
  printSavedSource,
  readSource,
  type SavedSource,
  sourceReader,
} from './saved-source.ts';
import { dtypeNames } from './tensors.ts';

/** A fact that a saved program relies on. For a tensor that is not an input of the program, only sizes are checked. */
export type SavedGuard =
  | ValueGuard<SavedSource, Primitive>
  | NumberGuard<SourceNumber<SavedSource>>
  | KeysGuard<SavedSource>
  | SameGuard<SavedSource>
  | TensorGuard<SavedSource, number>;

const guardKinds = [
  'value',
  'number',
  'truthy',
  'defined',
  'typeof',
  'isArray',
  'keys',
  'same',
  'tensor',
] as const;

export function encodeGuard(guard: SavedGuard): unknown {
  if (guard.kind === 'number') {
    const { kind, expr, value } = guard;
    return { kind, number: encodeNumber(expr), value: encodePrimitive(value) };
  }
  const { kind, source, ...facts } = guard;
  const encoded = encodeSource(source);
  if (guard.kind === 'value') return { kind, place: encoded, value: encodePrimitive(guard.value) };
  if (guard.kind !== 'same') return { kind, place: encoded, ...facts };
  return { kind, place: encoded, other: encodeSource(guard.other), same: guard.same };
}

export function readGuard(field: Field, states: number): SavedGuard {
  const kind = field.get('kind').oneOf(guardKinds);
  const source = () => readSource(field.get('place'), states);
  switch (kind) {
    case 'value':
      return { kind, source: source(), value: readPrimitive(field.get('value')) };
    case 'number': {
      const value = readPrimitive(field.get('value'));
      if (typeof value !== 'number' && typeof value !== 'boolean') field.fail('a number');
      return { kind, expr: readSavedNumber(field.get('number'), states), value };
    }
    case 'truthy':
      return { kind, source: source(), truthy: field.get('truthy').boolean() };
    case 'defined':
      return { kind, source: source() };
    case 'typeof':
      return { kind, source: source(), type: field.get('type').string() };
    case 'isArray':
      return { kind, source: source(), isArray: field.get('isArray').boolean() };
    case 'keys':
      return { kind, source: source(), keys: field.list('keys', (key) => key.string()) };
    case 'same': {
      const other = readSource(field.get('other'), states);
      return { kind, source: source(), other, same: field.get('same').boolean() };
    }
    case 'tensor':
      return {
        kind,
        source: source(),
        dtype: field.get('dtype').oneOf(dtypeNames),
        shape: field.list('shape', (size) => size.int()),
      };
  }
}

/** The actual and the expected value of a guard that doesn't hold. */
export interface GuardMismatch {
  readonly kind: 'shape' | 'dtype' | 'device' | 'other';
  readonly given: string;
  readonly expected: string;
}

export type GuardCheck = (values: CallValues) => GuardMismatch | undefined;

/** Compiles a guard once. Creates text only on failure. */
export function compileGuard(guard: SavedGuard): GuardCheck {
  switch (guard.kind) {
    case 'number': {
      const read = numberReader(guard.expr);
      return (values) => {
        const found = read(values);
        if (Object.is(found, guard.value)) return undefined;
        const given = `${printNumber(guard.expr, values)} is ${found}`;
        return { kind: 'other', given, expected: String(guard.value) };
      };
    }
    case 'same': {
      const [read, readOther] = [sourceReader(guard.source), sourceReader(guard.other)];
      return (values) => {
        if ((read(values) === readOther(values)) === guard.same) return undefined;
        const [a, b] = [guard.source, guard.other].map((place) =>
          printSavedSource(place, values.state),
        );
        const [is, be] = guard.same ? ['two', 'one'] : ['one', 'two'];
        return { kind: 'other', given: `${a} and ${b} are ${is}`, expected: be! };
      };
    }
    default: {
      const read = sourceReader(guard.source);
      const test = compileTest(guard);
      return (values) => {
        const found = read(values);
        if (test(found)) return undefined;
        const given = `${printSavedSource(guard.source, values.state)} is ${describe(found)}`;
        const kind = guard.kind === 'tensor' ? 'shape' : 'other';
        return { kind, given, expected: expectedBy(guard) };
      };
    }
  }
}

type ReadGuard = Exclude<SavedGuard, { kind: 'number' | 'same' }>;

function compileTest(guard: ReadGuard): (found: unknown) => boolean {
  switch (guard.kind) {
    case 'keys':
      return (found) => typeof found === 'object' && found !== null && hasKeys(found, guard.keys);
    case 'tensor':
      return (found) =>
        found instanceof Tensor &&
        found.dtype === guard.dtype &&
        sameShape(found.shape, guard.shape);
    default:
      return compileValueTest(guard);
  }
}

function expectedBy(guard: ReadGuard): string {
  switch (guard.kind) {
    case 'value':
      return describe(guard.value);
    case 'truthy':
      return `one that is ${guard.truthy} as a condition`;
    case 'defined':
      return 'something';
    case 'typeof':
      return `of type ${guard.type}`;
    case 'isArray':
      return guard.isArray ? 'an array' : 'no array';
    case 'keys':
      return `{ ${guard.keys.join(', ')} }`;
    case 'tensor':
      return `a ${formatSpec(guard)} tensor`;
  }
}

/** Formats a value for error messages. */
export function describe(value: unknown): string {
  if (value instanceof Tensor) return `a ${formatSpec(value)} tensor`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'string') return `'${value}'`;
  if (isPrimitiveValue(value)) return String(value);
  return typeof value === 'object'
    ? `{ ${Object.keys(value as object).join(', ')} }`
    : `a ${typeof value}`;
}

function printNumber(number: SavedNumber, { state }: CallValues): string {
  return printNumberOf(number, ({ source }) => printSavedSource(source, state));
}
