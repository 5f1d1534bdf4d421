import { randomReader, type SourceOf } from '../entry/source.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { Field } from './file/field.ts';
import type { ProgramState } from './program-state.ts';

/**
 * Where a loaded program reads a value: in an argument, by a path of own properties; in its state, which contains the
 * values that the function read outside its arguments; or in the random stream.
 */
export type SavedSource = SourceOf<SavedOrigin, string>;

type SavedOrigin =
  | { readonly kind: 'argument'; readonly index: number }
  | { readonly kind: 'argumentCount' }
  | { readonly kind: 'state'; readonly index: number };

/** The values that one call of a loaded program reads. */
export interface CallValues {
  readonly args: readonly unknown[];
  readonly state: ProgramState;
}

export type SavedReader = (values: CallValues) => unknown;

const forms = ['argument', 'count', 'has', 'state', 'random'] as const;

export function readSource(field: Field, states: number): SavedSource {
  const items = field.items();
  const [formField, first] = items;
  const form = formField?.oneOf(forms) ?? field.fail('a place');
  switch (form) {
    case 'argument':
    case 'has': {
      let source: SavedSource = { kind: 'argument', index: (first ?? field).int(0, maxArguments) };
      for (const key of items.slice(2)) {
        source = { kind: 'property', base: source, key: key.string() };
      }
      if (form === 'argument') return source;
      if (source.kind !== 'property') return field.fail('a property');
      return { ...source, kind: 'hasProperty', own: true };
    }
    case 'count':
      return { kind: 'argumentCount' };
    case 'state':
      return { kind: 'state', index: (first ?? field).int(0, states - 1) };
    case 'random':
      return { kind: 'random', field: (first ?? field).oneOf(['seed', 'offset']) };
  }
}

const maxArguments = 65535;

/** Encodes a path as a single list: `['argument', 0, 'mask', 'values']`. */
export function encodeSource(source: SavedSource): readonly unknown[] {
  switch (source.kind) {
    case 'argument':
    case 'state':
      return [source.kind, source.index];
    case 'property':
      return [...encodeSource(source.base), source.key];
    case 'hasProperty':
      return ['has', ...encodeSource(source.base).slice(1), source.key];
    case 'argumentCount':
      return ['count'];
    case 'random':
      return [source.kind, source.field];
  }
}

/** Compiles a source to a function that reads it. Missing values read as undefined. */
export function sourceReader(source: SavedSource): SavedReader {
  switch (source.kind) {
    case 'argument': {
      const { index } = source;
      return ({ args }) => args[index];
    }
    case 'property': {
      const [read, key] = [sourceReader(source.base), source.key];
      return (values) => propertyOf(read(values), key);
    }
    case 'hasProperty': {
      const [read, key] = [sourceReader(source.base), source.key];
      return (values) => {
        const object = read(values);
        return typeof object === 'object' && object !== null && Object.hasOwn(object, key);
      };
    }
    case 'argumentCount':
      return ({ args }) => args.length;
    case 'state': {
      const { index } = source;
      return ({ state }) => state.get(index);
    }
    case 'random':
      return randomReader(source);
  }
}

/** Reads own properties, and the properties that every tensor has; never calls a prototype's method. */
function propertyOf(object: unknown, key: string): unknown {
  if (object instanceof Tensor) {
    return key === 'shape' || key === 'size' || key === 'grad' ? object[key] : undefined;
  }
  if (typeof object !== 'object' || object === null) return undefined;
  return Object.hasOwn(object, key) ? Reflect.get(object, key) : undefined;
}

/** Formats a source for messages, such as `argument 1.mask`. */
export function printSavedSource(source: SavedSource, state: ProgramState): string {
  switch (source.kind) {
    case 'argument':
      return `argument ${source.index}`;
    case 'property':
    case 'hasProperty': {
      const { key } = source;
      const property = /^\d+$/.test(key) ? `[${key}]` : `.${key}`;
      return `${printSavedSource(source.base, state)}${property}`;
    }
    case 'argumentCount':
      return 'the number of arguments';
    case 'state':
      return state.nameOf(source.index);
    case 'random':
      return `the ${source.field} of the random stream`;
  }
}
