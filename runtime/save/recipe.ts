import { compileItems, type DataMake, defineData } from '../entry/make.ts';
import {
  compileNumberOf,
  type NumberExprOf,
  type NumberReader,
  type SourceNumber,
} from '../entry/number-expr.ts';
import {
  type ConstantRecipe,
  compileRecipeOf,
  type NumberRecipe,
  type Read,
  type RecipeCompiler,
  type RecipeOf,
  type RunResults,
  type SourceRecipe,
} from '../entry/recipe.ts';
import { scalarFunctions } from '../ops/numbers/scalar-functions.ts';
import { knownTensor, type RunTensors } from '../run-program/known-tensors.ts';
import { takeItems, takeNumber } from '../run-program/list-items.ts';
import { type Field, maxScalarArguments } from './file/field.ts';
import { encodePrimitive, type Primitive, readNumber, readPrimitive } from './primitive.ts';
import {
  type CallValues,
  encodeSource,
  readSource,
  type SavedSource,
  sourceReader,
} from './saved-source.ts';
import { encodeScalar, encodeText, readScalar, readText } from './scalar-format.ts';

/** A JavaScript number as a function of the values that a call reads. */
export type SavedNumber = NumberExprOf<SourceNumber<SavedSource>>;

/** Describes how to construct a value after a run. */
export type SavedRecipe = RecipeOf<SavedLeaf>;

type SavedLeaf =
  | ConstantRecipe<Primitive>
  | SourceRecipe<SavedSource>
  | NumberRecipe<SourceNumber<SavedSource>>;

export type SavedMake = DataMake<SavedRecipe>;

const listElements = ['tensor', 'number', 'boolean'] as const;

/** The counts of values that recipes may refer to. */
export interface Limits {
  readonly states: number;
  readonly outputs: number;
  readonly makes: number;
}

/** The values that recipes read: from the call, and from the run. */
export interface CallResults extends CallValues, RunResults, RunTensors {
  /** Indices of the outputs that the caller received. */
  readonly held: Set<number>;
}

export function encodeNumber(number: SavedNumber): unknown {
  if (number.kind === 'constant') return { constant: encodePrimitive(number.value) };
  if (number.kind === 'source') return { place: encodeSource(number.source) };
  return { fn: number.fn, args: number.args.map(encodeNumber) };
}

export function readSavedNumber(field: Field, states: number): SavedNumber {
  if (field.has('constant')) return { kind: 'constant', value: readNumber(field.get('constant')) };
  if (field.has('place')) return { kind: 'source', source: readSource(field.get('place'), states) };
  const fn = field.get('fn').string();
  if (!scalarFunctions.has(fn)) field.get('fn').fail('the name of a function of numbers');
  const args = field
    .get('args')
    .items(maxScalarArguments)
    .map((arg) => readSavedNumber(arg, states));
  return { kind: 'apply', fn, args };
}

export function numberReader(number: SavedNumber): NumberReader<CallValues> {
  return compileNumberOf(number, ({ source }) => sourceReader(source) as NumberReader<CallValues>);
}

export function encodeRecipe(recipe: SavedRecipe): unknown {
  switch (recipe.kind) {
    case 'constant':
      return { constant: encodePrimitive(recipe.value) };
    case 'source':
      return { place: encodeSource(recipe.source) };
    case 'number':
      return { number: encodeNumber(recipe.expr) };
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
  if (field.has('place')) return { kind: 'source', source: readSource(field.get('place'), states) };
  if (field.has('number')) {
    return { kind: 'number', expr: readSavedNumber(field.get('number'), states) };
  }
  if (field.has('output')) {
    return { kind: 'output', index: field.get('output').int(0, outputs - 1) };
  }
  if (field.has('made')) return { kind: 'made', index: field.get('made').int(0, makes - 1) };
  if (field.has('text')) return { kind: 'text', parts: readText(field.get('text'), outputs) };
  return readScalar(field, outputs);
}

export function recipeReader(recipe: SavedRecipe): Read<CallResults> {
  return compileRecipeOf(recipe, compiler);
}

const compiler: RecipeCompiler<SavedLeaf, CallResults> = {
  leaf: (leaf) => {
    if (leaf.kind === 'constant') return () => leaf.value;
    return leaf.kind === 'source' ? sourceReader(leaf.source) : numberReader(leaf.expr);
  },
  output:
    (index) =>
    ({ outputs, held }) => {
      held.add(index);
      return outputs[index];
    },
};

export function encodeMake(make: SavedMake): unknown {
  const encode = (recipe: SavedRecipe | null) => recipe && encodeRecipe(recipe);
  switch (make.kind) {
    case 'array':
      return { array: make.elements.map(encode) };
    case 'object':
      return { object: make.entries.map(([key, recipe]) => [key, encode(recipe)]) };
    case 'collection':
      if (make.type === 'Map') return { map: make.entries.map((entry) => entry.map(encode)) };
      return { set: make.entries.map(([item]) => encode(item)) };
    case 'list':
      return { list: make.outputs[0], elements: make.element.of };
  }
}

export function readMake(field: Field, limits: Limits): SavedMake {
  const recipe = (item: Field) => readRecipe(item, limits);
  const pairs = (list: Field) => list.items().map((pair) => pair.tuple(2));
  if (field.has('array')) {
    const items = field.get('array').items();
    return { kind: 'array', elements: items.map((item) => (item.isNull ? null : recipe(item))) };
  }
  if (field.has('set')) {
    const items = field.list('set', recipe);
    return { kind: 'collection', type: 'Set', entries: items.map((item) => [item, item]) };
  }
  if (field.has('map')) {
    const entries = pairs(field.get('map')).map(
      (pair) => [recipe(pair[0]), recipe(pair[1])] as const,
    );
    return { kind: 'collection', type: 'Map', entries };
  }
  if (field.has('list')) {
    const output = field.get('list').int(0, limits.outputs - 1);
    const of = field.get('elements').oneOf(listElements);
    return { kind: 'list', outputs: [output], element: { kind: 'leaf', of } };
  }
  const entries = pairs(field.get('object'));
  return { kind: 'object', entries: entries.map(([key, item]) => [key.string(), recipe(item)]) };
}

/** Creates all objects of a call, first empty, then fills them, so that they may refer to each other. */
export function compileMakes(makes: readonly SavedMake[]): (results: CallResults) => void {
  const fills = makes.map(compileFill);
  return (results) => {
    const { made } = results;
    for (const make of makes) made.push(emptyOf(make));
    for (let i = 0; i < fills.length; i++) fills[i]!(made[i], results);
  };
}

function emptyOf(make: SavedMake): unknown {
  if (make.kind === 'object') return {};
  if (make.kind !== 'collection') return [];
  return make.type === 'Map' ? new Map() : new Set();
}

function compileFill(make: SavedMake): (target: unknown, results: CallResults) => void {
  switch (make.kind) {
    case 'array':
      return compileSavedItems(make.elements) as (target: unknown, results: CallResults) => void;
    case 'list': {
      const [output] = make.outputs;
      const { of } = make.element;
      return (target, results) => {
        for (const item of takeItems(results.outputs[output!]!)) {
          (target as unknown[]).push(
            of === 'tensor' ? knownTensor(item, results) : takeNumber(item, of),
          );
        }
      };
    }
    case 'collection': {
      const readers = make.entries.map((entry) => entry.map(recipeReader));
      return (target, results) => {
        for (const [key, item] of readers) {
          if (target instanceof Map) target.set(key!(results), item!(results));
          else (target as Set<unknown>).add(key!(results));
        }
      };
    }
    case 'object': {
      const readers = make.entries.map(([key, recipe]) => [key, recipeReader(recipe)] as const);
      return (target, results) => {
        for (const [key, read] of readers) defineData(target as object, key, read(results));
      };
    }
  }
}

/** Adds elements to an array; a missing element leaves a hole. */
export function compileSavedItems(
  items: readonly (SavedRecipe | null)[],
): (array: unknown[], results: CallResults) => void {
  return compileItems(items, recipeReader, (array, item) => {
    array.push(item);
  });
}
