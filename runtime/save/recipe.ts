import {
  compileNumberOf,
  type NumberExprOf,
  type NumberReader,
  type SourceNumber,
} from '../entry/number-expr.ts';
import { scalarFunctions } from '../ops/numbers/scalar-functions.ts';
import { mapText, type TextPart, textWith } from '../program/number-text.ts';
import { takeItems } from '../run-program/list-items.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { type Field, maxScalarArguments } from './field.ts';
import { type CallValues, encodePlace, type Place, placeReader, readPlace } from './place.ts';
import { encodePrimitive, type Primitive, readNumber, readPrimitive } from './primitive.ts';
import {
  encodeScalar,
  encodeText,
  readScalar,
  readText,
  type SavedScalar,
  scalarReader,
} from './text.ts';

/** A JavaScript number as a function of what a call finds. */
export type SavedNumber = NumberExprOf<SourceNumber<Place>>;

/** How to have a value after a run. */
export type SavedRecipe =
  | { readonly kind: 'constant'; readonly value: Primitive }
  | { readonly kind: 'place'; readonly place: Place }
  | { readonly kind: 'number'; readonly number: SavedNumber }
  | { readonly kind: 'output'; readonly index: number }
  | SavedScalar
  /** Text of such numbers. */
  | { readonly kind: 'text'; readonly parts: readonly TextPart<SavedScalar>[] }
  | { readonly kind: 'made'; readonly index: number }
  /** The option whose number the program returns. */
  | {
      readonly kind: 'choice';
      readonly which: SavedRecipe;
      readonly options: readonly SavedRecipe[];
    };

/** An object that each call makes anew; its parts may be made ones, in a circle even. */
export type SavedMake =
  | { readonly kind: 'array'; readonly items: readonly (SavedRecipe | null)[] }
  | { readonly kind: 'object'; readonly entries: readonly (readonly [string, SavedRecipe])[] }
  | { readonly kind: 'map'; readonly entries: readonly (readonly [SavedRecipe, SavedRecipe])[] }
  | { readonly kind: 'set'; readonly items: readonly SavedRecipe[] }
  /** The elements of a list that the program returns. */
  | { readonly kind: 'list'; readonly output: number; readonly of: ListElement };

const listElements = ['tensor', 'number', 'boolean'] as const;

export type ListElement = (typeof listElements)[number];

/** What recipes may name. */
export interface Limits {
  readonly states: number;
  readonly outputs: number;
  readonly makes: number;
}

export interface RunResults extends CallValues {
  readonly outputs: readonly Tensor[];
  readonly made: unknown[];
  /** Numbers of the outputs that the caller got. */
  readonly held: Set<number>;
}

export function encodeNumber(number: SavedNumber): unknown {
  if (number.kind === 'constant') return { constant: encodePrimitive(number.value) };
  if (number.kind === 'source') return { place: encodePlace(number.source) };
  return { fn: number.fn, args: number.args.map(encodeNumber) };
}

export function readSavedNumber(field: Field, states: number): SavedNumber {
  if (field.has('constant')) return { kind: 'constant', value: readNumber(field.get('constant')) };
  if (field.has('place')) return { kind: 'source', source: readPlace(field.get('place'), states) };
  const fn = field.get('fn').string();
  if (!scalarFunctions.has(fn)) field.get('fn').fail('the name of a function of numbers');
  const args = field
    .get('args')
    .items(maxScalarArguments)
    .map((arg) => readSavedNumber(arg, states));
  return { kind: 'apply', fn, args };
}

export function numberReader(number: SavedNumber): NumberReader<CallValues> {
  return compileNumberOf(number, ({ source }) => placeReader(source) as NumberReader<CallValues>);
}

export function encodeRecipe(recipe: SavedRecipe): unknown {
  switch (recipe.kind) {
    case 'constant':
      return { constant: encodePrimitive(recipe.value) };
    case 'place':
      return { place: encodePlace(recipe.place) };
    case 'number':
      return { number: encodeNumber(recipe.number) };
    case 'output':
    case 'made':
      return { [recipe.kind]: recipe.index };
    case 'scalar':
      return encodeScalar(recipe);
    case 'text':
      return { text: encodeText(recipe.parts) };
    case 'choice':
      return { which: encodeRecipe(recipe.which), options: recipe.options.map(encodeRecipe) };
  }
}

export function readRecipe(field: Field, limits: Limits): SavedRecipe {
  const { states, outputs, makes } = limits;
  if (field.has('options')) {
    const options = field.get('options').items();
    return {
      kind: 'choice',
      which: readRecipe(field.get('which'), limits),
      options: options.map((option) => readRecipe(option, limits)),
    };
  }
  if (field.has('constant')) {
    return { kind: 'constant', value: readPrimitive(field.get('constant')) };
  }
  if (field.has('place')) return { kind: 'place', place: readPlace(field.get('place'), states) };
  if (field.has('number')) {
    return { kind: 'number', number: readSavedNumber(field.get('number'), states) };
  }
  if (field.has('output')) {
    return { kind: 'output', index: field.get('output').int(0, outputs - 1) };
  }
  if (field.has('made')) return { kind: 'made', index: field.get('made').int(0, makes - 1) };
  if (field.has('text')) return { kind: 'text', parts: readText(field.get('text'), outputs) };
  return readScalar(field, outputs);
}

export function recipeReader(recipe: SavedRecipe): (results: RunResults) => unknown {
  switch (recipe.kind) {
    case 'constant':
      return () => recipe.value;
    case 'place':
      return placeReader(recipe.place);
    case 'number':
      return numberReader(recipe.number);
    case 'output': {
      const { index } = recipe;
      return ({ outputs, held }) => {
        held.add(index);
        return outputs[index];
      };
    }
    case 'made': {
      const { index } = recipe;
      return ({ made }) => made[index];
    }
    case 'choice': {
      const which = recipeReader(recipe.which);
      const options = recipe.options.map(recipeReader);
      return (results) => options[Number(which(results))]?.(results);
    }
    case 'scalar':
      return scalarReader(recipe);
    case 'text': {
      const parts = mapText(recipe.parts, scalarReader);
      return (results) => textWith(parts, (read) => read(results));
    }
  }
}

export function encodeMake(make: SavedMake): unknown {
  const encode = (recipe: SavedRecipe | null) => recipe && encodeRecipe(recipe);
  switch (make.kind) {
    case 'array':
    case 'set':
      return { [make.kind]: make.items.map(encode) };
    case 'object':
      return { object: make.entries.map(([key, recipe]) => [key, encode(recipe)]) };
    case 'map':
      return { map: make.entries.map((entry) => entry.map(encode)) };
    case 'list':
      return { list: make.output, elements: make.of };
  }
}

export function readMake(field: Field, limits: Limits): SavedMake {
  const recipe = (item: Field) => readRecipe(item, limits);
  const pairs = (list: Field) => list.items().map((pair) => pair.tuple(2) as [Field, Field]);
  if (field.has('array')) {
    const items = field.get('array').items();
    return { kind: 'array', items: items.map((item) => (item.isNull ? null : recipe(item))) };
  }
  if (field.has('set')) return { kind: 'set', items: field.get('set').items().map(recipe) };
  if (field.has('map')) {
    const entries = pairs(field.get('map'));
    return { kind: 'map', entries: entries.map(([key, item]) => [recipe(key), recipe(item)]) };
  }
  if (field.has('list')) {
    const output = field.get('list').int(0, limits.outputs - 1);
    return { kind: 'list', output, of: field.get('elements').oneOf(listElements) };
  }
  const entries = pairs(field.get('object'));
  return { kind: 'object', entries: entries.map(([key, item]) => [key.string(), recipe(item)]) };
}

/** Makes all objects of a call: empty first, then what is in them, so that circles close. */
export function compileMakes(makes: readonly SavedMake[]): (results: RunResults) => void {
  const fills = makes.map(compileFill);
  return (results) => {
    const { made } = results;
    for (const { kind } of makes) made.push(emptyOf(kind));
    for (let i = 0; i < fills.length; i++) fills[i]!(made[i], results);
  };
}

function emptyOf(kind: SavedMake['kind']): unknown {
  if (kind === 'array' || kind === 'list') return [];
  if (kind === 'object') return {};
  return kind === 'map' ? new Map() : new Set();
}

function compileFill(make: SavedMake): (made: unknown, results: RunResults) => void {
  switch (make.kind) {
    case 'array': {
      const append = compileItems(make.items);
      return (made, results) => append(made as unknown[], results);
    }
    case 'list': {
      const { output, of } = make;
      return (made, { outputs }) => {
        for (const item of takeItems(outputs[output]!)) {
          (made as unknown[]).push(of === 'tensor' ? item : readItem(item, of));
        }
      };
    }
    case 'set': {
      const readers = make.items.map(recipeReader);
      return (made, results) => {
        for (const read of readers) (made as Set<unknown>).add(read(results));
      };
    }
    case 'map': {
      const readers = make.entries.map((entry) => entry.map(recipeReader));
      return (made, results) => {
        for (const [key, item] of readers) {
          (made as Map<unknown, unknown>).set(key!(results), item!(results));
        }
      };
    }
    case 'object': {
      const readers = make.entries.map(([key, recipe]) => [key, recipeReader(recipe)] as const);
      return (made, results) => {
        for (const [key, read] of readers) define(made as object, key, read(results));
      };
    }
  }
}

/** The number or truth value, whose tensor is given back. */
function readItem(item: Tensor, of: 'number' | 'boolean'): number | boolean {
  const value = item.itemSync();
  item.dispose();
  return of === 'boolean' ? value !== 0 : value;
}

/** Appends elements; a missing one leaves a hole. */
export function compileItems(
  items: readonly (SavedRecipe | null)[],
): (array: unknown[], results: RunResults) => void {
  const readers = items.map((item) => item && recipeReader(item));
  return (array, results) => {
    for (const read of readers) {
      if (read) array.push(read(results));
      else array.length++;
    }
  };
}

/** Also for a key such as `__proto__`, which an assignment would take for something else. */
export function define(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}
