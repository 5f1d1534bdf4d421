import { randomState } from '../random/seed.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { Field } from './field.ts';
import type { ProgramState } from './program-state.ts';

/**
 * Where a loaded program finds a value: in an argument, by a path of own properties; in its state, which
 * is what the function found outside of its arguments; or in the random stream.
 */
export type Place =
  | { readonly kind: 'argument'; readonly index: number; readonly path: readonly string[] }
  | { readonly kind: 'count' }
  | { readonly kind: 'has'; readonly index: number; readonly path: readonly string[] }
  | { readonly kind: 'state'; readonly index: number }
  | { readonly kind: 'random'; readonly field: 'seed' | 'offset' };

/** What one call of a loaded program reads. */
export interface CallValues {
  readonly args: readonly unknown[];
  readonly state: ProgramState;
}

export type PlaceReader = (values: CallValues) => unknown;

const placeKinds = ['argument', 'count', 'has', 'state', 'random'] as const;

export function readPlace(field: Field, states: number): Place {
  const items = field.items();
  const [kindField, first] = items;
  const kind = kindField?.oneOf(placeKinds) ?? field.fail('a place');
  const path = () => items.slice(2).map((key) => key.string());
  switch (kind) {
    case 'argument':
    case 'has':
      return { kind, index: (first ?? field).int(0, maxArguments), path: path() };
    case 'count':
      return { kind };
    case 'state':
      return { kind, index: (first ?? field).int(0, states - 1) };
    case 'random':
      return { kind, field: (first ?? field).oneOf(['seed', 'offset']) };
  }
}

const maxArguments = 65535;

export function encodePlace(place: Place): unknown {
  switch (place.kind) {
    case 'argument':
    case 'has':
      return [place.kind, place.index, ...place.path];
    case 'count':
      return [place.kind];
    case 'state':
      return [place.kind, place.index];
    case 'random':
      return [place.kind, place.field];
  }
}

/** Compiles a place to a function that reads it. What isn't there reads as undefined. */
export function placeReader(place: Place): PlaceReader {
  switch (place.kind) {
    case 'argument': {
      const { index, path } = place;
      if (path.length === 0) return ({ args }) => args[index];
      return ({ args }) => path.reduce(propertyOf, args[index]);
    }
    case 'has': {
      const { index, path } = place;
      const key = path[path.length - 1]!;
      return ({ args }) => {
        const object = path.slice(0, -1).reduce(propertyOf, args[index]);
        return typeof object === 'object' && object !== null && Object.hasOwn(object, key);
      };
    }
    case 'count':
      return ({ args }) => args.length;
    case 'state': {
      const { index } = place;
      return ({ state }) => state.get(index);
    }
    case 'random': {
      const { field } = place;
      return () => randomState()[field];
    }
  }
}

/** Own properties, and of tensors those that every one has: nothing of a prototype's is called. */
function propertyOf(object: unknown, key: string): unknown {
  if (object instanceof Tensor) return key === 'shape' || key === 'size' ? object[key] : undefined;
  if (typeof object !== 'object' || object === null) return undefined;
  return Object.hasOwn(object, key) ? Reflect.get(object, key) : undefined;
}

/** `argument 1.mask`, for messages. */
export function printPlace(place: Place, state: ProgramState): string {
  switch (place.kind) {
    case 'argument':
    case 'has': {
      const path = place.path.map((key) => (/^\d+$/.test(key) ? `[${key}]` : `.${key}`));
      return `argument ${place.index}${path.join('')}`;
    }
    case 'count':
      return 'the number of arguments';
    case 'state':
      return state.nameOf(place.index);
    case 'random':
      return `the ${place.field} of the random stream`;
  }
}
