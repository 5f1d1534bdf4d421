import { printNumberOf } from '../entry/number-expr.ts';
import type { DType } from '../tensor/dtype.ts';
import { formatSpec } from '../tensor/meta.ts';
import { sameShape } from '../tensor/shape.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { Field } from './field.ts';
import {
  type CallValues,
  encodePlace,
  type Place,
  placeReader,
  printPlace,
  readPlace,
} from './place.ts';
import { encodePrimitive, isPrimitiveValue, type Primitive, readPrimitive } from './primitive.ts';
import { encodeNumber, numberReader, readSavedNumber, type SavedNumber } from './recipe.ts';
import { dtypeNames } from './tensors.ts';

/** One fact that a saved program relies on. */
export type SavedGuard =
  | { readonly kind: 'value'; readonly place: Place; readonly value: Primitive }
  | { readonly kind: 'number'; readonly number: SavedNumber; readonly value: number | boolean }
  | { readonly kind: 'truthy'; readonly place: Place; readonly truthy: boolean }
  | { readonly kind: 'defined'; readonly place: Place }
  | { readonly kind: 'typeof'; readonly place: Place; readonly type: string }
  | { readonly kind: 'isArray'; readonly place: Place; readonly isArray: boolean }
  | { readonly kind: 'keys'; readonly place: Place; readonly keys: readonly string[] }
  | {
      readonly kind: 'same';
      readonly place: Place;
      readonly other: Place;
      readonly same: boolean;
    }
  /** A tensor of which only sizes are read. */
  | {
      readonly kind: 'tensor';
      readonly place: Place;
      readonly dtype: DType;
      readonly shape: readonly number[];
    };

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
    const value = encodePrimitive(guard.value);
    return { kind: guard.kind, number: encodeNumber(guard.number), value };
  }
  const place = encodePlace(guard.place);
  if (guard.kind === 'value') return { ...guard, place, value: encodePrimitive(guard.value) };
  if (guard.kind === 'same') return { ...guard, place, other: encodePlace(guard.other) };
  return { ...guard, place };
}

export function readGuard(field: Field, states: number): SavedGuard {
  const kind = field.get('kind').oneOf(guardKinds);
  const place = () => readPlace(field.get('place'), states);
  switch (kind) {
    case 'value':
      return { kind, place: place(), value: readPrimitive(field.get('value')) };
    case 'number': {
      const value = readPrimitive(field.get('value'));
      if (typeof value !== 'number' && typeof value !== 'boolean') field.fail('a number');
      return { kind, number: readSavedNumber(field.get('number'), states), value };
    }
    case 'truthy':
      return { kind, place: place(), truthy: field.get('truthy').boolean() };
    case 'defined':
      return { kind, place: place() };
    case 'typeof':
      return { kind, place: place(), type: field.get('type').string() };
    case 'isArray':
      return { kind, place: place(), isArray: field.get('isArray').boolean() };
    case 'keys': {
      const keys = field.get('keys').items();
      return { kind, place: place(), keys: keys.map((key) => key.string()) };
    }
    case 'same': {
      const other = readPlace(field.get('other'), states);
      return { kind, place: place(), other, same: field.get('same').boolean() };
    }
    case 'tensor': {
      const shape = field.get('shape').items();
      return {
        kind,
        place: place(),
        dtype: field.get('dtype').oneOf(dtypeNames),
        shape: shape.map((size) => size.int(0, Number.MAX_SAFE_INTEGER)),
      };
    }
  }
}

/** What is and what should be; undefined where the fact holds. */
export interface Misfit {
  readonly kind: 'shape' | 'dtype' | 'device' | 'other';
  readonly given: string;
  readonly expected: string;
}

export type GuardCheck = (values: CallValues) => Misfit | undefined;

/** Compiles a guard once. Text is made only where it doesn't hold. */
export function compileGuard(guard: SavedGuard): GuardCheck {
  switch (guard.kind) {
    case 'number': {
      const read = numberReader(guard.number);
      return (values) => {
        const found = read(values);
        if (Object.is(found, guard.value)) return undefined;
        const given = `${printNumber(guard.number, values)} is ${found}`;
        return { kind: 'other', given, expected: String(guard.value) };
      };
    }
    case 'same': {
      const [read, readOther] = [placeReader(guard.place), placeReader(guard.other)];
      return (values) => {
        if ((read(values) === readOther(values)) === guard.same) return undefined;
        const [a, b] = [guard.place, guard.other].map((place) => printPlace(place, values.state));
        const [is, be] = guard.same ? ['two', 'one'] : ['one', 'two'];
        return { kind: 'other', given: `${a} and ${b} are ${is}`, expected: be! };
      };
    }
    default: {
      const read = placeReader(guard.place);
      const test = compileTest(guard);
      return (values) => {
        const found = read(values);
        const expected = test(found);
        if (expected === undefined) return undefined;
        const given = `${printPlace(guard.place, values.state)} is ${describe(found)}`;
        return { kind: guard.kind === 'tensor' ? 'shape' : 'other', given, expected };
      };
    }
  }
}

/** What is expected, where the value is something else. */
function compileTest(
  guard: Exclude<SavedGuard, { kind: 'number' | 'same' }>,
): (found: unknown) => string | undefined {
  switch (guard.kind) {
    case 'value':
      return (found) => (Object.is(found, guard.value) ? undefined : describe(guard.value));
    case 'truthy':
      return (found) =>
        !!found === guard.truthy ? undefined : `one that is ${guard.truthy} as a condition`;
    case 'defined':
      return (found) => (found === undefined || found === null ? 'something' : undefined);
    case 'typeof':
      return (found) => (typeof found === guard.type ? undefined : `of type ${guard.type}`);
    case 'isArray': {
      const expected = guard.isArray ? 'an array' : 'no array';
      return (found) => (Array.isArray(found) === guard.isArray ? undefined : expected);
    }
    case 'keys':
      return (found) => (hasKeys(found, guard.keys) ? undefined : `{ ${guard.keys.join(', ')} }`);
    case 'tensor':
      return (found) => {
        const fits =
          found instanceof Tensor &&
          found.dtype === guard.dtype &&
          sameShape(found.shape, guard.shape);
        return fits ? undefined : `a ${formatSpec(guard)} tensor`;
      };
  }
}

function hasKeys(value: unknown, keys: readonly string[]): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const own = Object.keys(value);
  return own.length === keys.length && own.every((key, i) => key === keys[i]);
}

/** For a person. */
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
  return printNumberOf(number, ({ source }) => printPlace(source, state));
}
