/**
 * Objects that each run creates with properties: literals, class instances, objects with symbols or accessors,
 * errors.
 */

import { defineData } from '../../../runtime/entry/make.ts';
import { foldStack } from '../../../runtime/errors/folded-stack.ts';
import type { MadeAttributes, MadeTraits, ObjectMake } from '../../traces/trace-result.ts';
import { inKeyOrder } from './key-order.ts';
import { absentValue, compileRecipe, type RecipeReader, type RunValues } from './materialize.ts';

/** A container that is filled once all containers exist. */
export interface Shell {
  readonly empty: (values: RunValues) => unknown;
  readonly fill: (target: unknown, values: RunValues) => void;
}

export function compileObject(make: ObjectMake): Shell {
  // Loops by index: the user may have replaced the array iteration that destructuring uses.
  const entries = make.entries.map((entry) => [entry[0], compileRecipe(entry[1])] as const);
  const entriesOf = inKeyOrder(entries, make.order);
  const fillBy = (put: (target: object, key: string, value: unknown) => void) => {
    return (target: unknown, values: RunValues) => {
      const ordered = entriesOf(values);
      for (let i = 0; i < ordered.length; i++) {
        const value = ordered[i]![1](values);
        if (value !== absentValue) put(target as object, ordered[i]![0], value);
      }
    };
  };
  const { prototype, errorType } = make;
  if (errorType) return compileError(errorType, entries, make);
  if (make.traits) return compileTraited(make, make.traits);
  const hasSetter = entries.some(([key]) => key === '__proto__');
  const fill = fillBy(hasSetter ? defineData : assign);
  if (prototype === undefined) return { empty: () => ({}), fill };
  if (prototype === null) return { empty: () => Object.create(null) as object, fill };
  const read = compileRecipe(prototype);
  return {
    // The trace never creates prototypes: they exist before all objects that it creates.
    empty: (values) => Object.create(read(values) as object) as object,
    fill: fillBy(defineData),
  };
}

/** Faster than defining the property, and equivalent if no prototype has a setter. */
function assign(target: object, key: string, value: unknown): void {
  (target as Record<string, unknown>)[key] = value;
}

/** Compiles an object with symbols, accessors or attributes. */
function compileTraited(make: ObjectMake, traits: MadeTraits): Shell {
  const entries = make.entries.map(([key, recipe]) => [key, compileRecipe(recipe)] as const);
  const entriesOf = inKeyOrder(entries, make.order);
  const symbols = traits.symbols.map(([key, recipe]) => [key, compileRecipe(recipe)] as const);
  const keys = new Map(traits.madeSymbols.map(([key, recipe]) => [key, compileRecipe(recipe)]));
  const describe = new Map(traits.attributes.map(([key, each]) => [key, compileAttributes(each)]));
  const above = make.prototype && compileRecipe(make.prototype);
  const isLiteral = make.prototype === undefined;
  return {
    empty: () => ({}),
    fill: (target, values) => {
      if (!isLiteral) Object.setPrototypeOf(target, above ? (above(values) as object) : null);
      for (const [key, read] of [...entriesOf(values), ...symbols]) {
        const value = read(values);
        if (value === absentValue) continue;
        const attributes = (describe.get(key) ?? describePlain)(value, values);
        const ownKey = typeof key === 'symbol' ? (keys.get(key)?.(values) as symbol) : undefined;
        Object.defineProperty(target, ownKey ?? key, attributes);
      }
      if (!traits.extensible) Object.preventExtensions(target);
    },
  };
}

type Describe = (value: unknown, values: RunValues) => PropertyDescriptor;

const describePlain: Describe = (value) => {
  return { value, writable: true, enumerable: true, configurable: true };
};

function compileAttributes({ accessor, writable, ...rest }: MadeAttributes): Describe {
  if (!accessor) return (value) => ({ ...rest, writable, value });
  const [get, set] = [accessor.get, accessor.set].map((half) => half && compileRecipe(half));
  return (_value, values) => {
    const halves = { get: get?.(values), set: set?.(values) };
    return { ...rest, ...halves } as PropertyDescriptor;
  };
}

function newError(type: ErrorConstructor, message: [text?: string]): Error {
  if ((type as unknown) !== AggregateError) return new type(...message);
  const error = new AggregateError([], ...message);
  // Defined again after the cause.
  Reflect.deleteProperty(error, 'errors');
  return error;
}

function compileError(
  type: ErrorConstructor,
  entries: readonly (readonly [string, RecipeReader])[],
  { entries: recipes, hasCause, prototype, thrownIn }: ObjectMake,
): Shell {
  const above = prototype && compileRecipe(prototype);
  const isAggregate = (type as unknown) === AggregateError;
  // Newer engines put the message into the stack when they create the error, before the run's objects exist.
  const isThere = recipes.some(([key, recipe]) => key === 'message' && recipe.kind !== 'made');
  const message = isThere ? entries.find(([key]) => key === 'message')?.[1] : undefined;
  return {
    empty: (values) => {
      const text = message?.(values);
      const error = newError(type, typeof text === 'string' ? [text] : []);
      foldStack(error, thrownIn);
      const prototype = above?.(values) as object | undefined;
      // An error of a user's class.
      return prototype && prototype !== type.prototype
        ? Object.setPrototypeOf(error, prototype)
        : error;
    },
    fill: (target, values) => {
      for (const [key, read] of entries) {
        const isHidden =
          key === 'message' || (key === 'cause' && hasCause) || (key === 'errors' && isAggregate);
        const enumerable = !isHidden;
        const value = read(values);
        Object.defineProperty(target, key, {
          value,
          writable: true,
          enumerable,
          configurable: true,
        });
      }
    },
  };
}
