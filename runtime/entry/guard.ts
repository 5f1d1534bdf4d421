import type { DType } from '../spec/dtype.ts';
import type { NumberExprOf } from './number-expr.ts';

/** A fact about one value that an entry relies on. */
export type ValueGuard<Location, Value> =
  | { readonly kind: 'value'; readonly source: Location; readonly value: Value }
  /** Only the value's truthiness was used. */
  | { readonly kind: 'truthy'; readonly source: Location; readonly truthy: boolean }
  /** Neither null nor undefined. */
  | { readonly kind: 'defined'; readonly source: Location }
  | { readonly kind: 'typeof'; readonly source: Location; readonly type: string }
  | { readonly kind: 'isArray'; readonly source: Location; readonly isArray: boolean };

/** The own enumerable keys, in order, of an object without symbol keys. */
export interface KeysGuard<Location> {
  readonly kind: 'keys';
  readonly source: Location;
  readonly keys: readonly string[];
}

/** Whether two sources refer to the same object. */
export interface SameGuard<Location> {
  readonly kind: 'same';
  readonly source: Location;
  readonly other: Location;
  readonly same: boolean;
}

/** A number, or a comparison of numbers, that was used at trace time. */
export interface NumberGuard<Leaf extends { readonly kind: 'source' | 'size' }> {
  readonly kind: 'number';
  readonly expr: NumberExprOf<Leaf>;
  readonly value: number | boolean;
}

export interface TensorGuard<Location, Size> {
  readonly kind: 'tensor';
  readonly source: Location;
  readonly dtype: DType;
  readonly shape: readonly Size[];
}

export function compileValueTest(guard: ValueGuard<unknown, unknown>): (value: unknown) => boolean {
  switch (guard.kind) {
    case 'value':
      return (value) => Object.is(value, guard.value);
    case 'truthy':
      return (value) => !!value === guard.truthy;
    case 'defined':
      return (value) => value !== undefined && value !== null;
    case 'typeof':
      return (value) => typeof value === guard.type;
    case 'isArray':
      return (value) => Array.isArray(value) === guard.isArray;
  }
}

export function hasKeys(value: object, keys: readonly string[]): boolean {
  const names = Object.keys(value);
  return names.length === keys.length && names.every((key, i) => key === keys[i]);
}
