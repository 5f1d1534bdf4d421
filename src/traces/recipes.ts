/** The parts of makes and effects. */

import { assertNever } from '../../runtime/errors/invariant.ts';
import type { Source } from '../guards/source.ts';
import type {
  Effect,
  ElementRecipe,
  FrameRecipe,
  MadeTraits,
  Make,
  ObjectMake,
  Recipe,
} from './trace-result.ts';

/** Returns the recipe itself, or all options of a choice. */
export function possibleOf(recipe: Recipe): readonly Recipe[] {
  if (recipe.kind !== 'choice') return [recipe];
  return [recipe.which, ...recipe.options].flatMap(possibleOf);
}

/** Returns everything that the created object may contain. */
export function contentsOf(make: Make): readonly Recipe[] {
  return recipesIn(make).flatMap(possibleOf);
}

/** Returns the recipes of the parts of an object that a run creates. */
export function recipesIn(make: Make): readonly Recipe[] {
  switch (make.kind) {
    case 'array':
      return [
        ...present(make.elements),
        ...make.named.map((entry) => entry[1]),
        ...inOwn(make.own),
      ];
    case 'extendedArray':
      return [make.array, ...present(make.elements)];
    case 'arguments':
      return [...present(make.elements), ...make.named.map((entry) => entry[1])];
    case 'object':
      return [
        ...make.entries.map((entry) => entry[1]),
        ...present([make.prototype, make.order?.which]),
        ...(make.traits ? inTraits(make.traits) : []),
      ];
    case 'collection':
      return [...make.entries.flat(), ...present([make.order?.which]), ...inOwn(make.own)];
    case 'weakCollection':
      return [...make.entries.flat(), ...inOwn(make.own)];
    case 'weakRef':
      return [make.target];
    case 'promise':
      return make.values;
    case 'cell':
      return [make.content];
    case 'parameterCell':
      return [make.arguments];
    case 'symbol':
    case 'typedArray':
    case 'host':
    case 'fixedHost':
    case 'regexp':
      return [];
    case 'view':
      return [make.buffer];
    case 'list':
      return inElement(make.element);
    case 'arrayIterator':
      return [make.array, ...present([make.namesOf])];
    case 'iterator':
      return [make.over];
    case 'iteratorRecord':
      return [make.iterator, ...present([make.next])];
    case 'generator':
      return recipesOfFrame(make.frame);
    case 'bound':
      return [make.target, make.receiver, ...make.args];
    case 'closure':
      return [...make.cells, make.thisValue, ...present([make.newTarget])];
    default:
      return assertNever(make, 'make');
  }
}

const inOwn = (own: ObjectMake | null): readonly Recipe[] => (own ? recipesIn(own) : []);

function inTraits({ attributes, symbols, madeSymbols }: MadeTraits): readonly Recipe[] {
  const accessors = attributes.flatMap(([, { accessor }]) => [accessor?.get, accessor?.set]);
  return [...[...symbols, ...madeSymbols].map(([, recipe]) => recipe), ...present(accessors)];
}

function inElement(element: ElementRecipe): readonly Recipe[] {
  switch (element.kind) {
    case 'leaf':
      return [];
    case 'same':
      return [element.value];
    case 'array':
      return element.parts.flatMap(inElement);
    case 'object': {
      const parts = element.entries.flatMap(([, part]) => inElement(part));
      return [...parts, ...present([element.prototype])];
    }
    case 'list':
      return inElement(element.of);
    default:
      return assertNever(element, 'element');
  }
}

/** Returns the recipes of the values in a frame that continues. */
export function recipesOfFrame({ call, registers }: FrameRecipe): Recipe[] {
  const values = registers.map(([, recipe]) => recipe);
  if (call.kind === 'entry') return values;
  return [...values, ...call.cells, call.thisValue, ...call.args, ...present([call.newTarget])];
}

/** Returns the recipes that the effect may store. */
export function storedBy(effect: Effect): readonly Recipe[] {
  return placedBy(effect).flatMap(possibleOf);
}

/** Returns the recipes that the effect stores. */
export function placedBy(effect: Effect): readonly Recipe[] {
  switch (effect.kind) {
    case 'setProperty':
    case 'setGrad':
      return [effect.value];
    case 'fillArray':
      return present([...effect.items, effect.list]);
    case 'changeCollection':
      return present([effect.key, effect.value]);
    case 'fillCollection':
      return [...effect.entries.flat(), ...present([effect.order?.which])];
    case 'deleteProperty':
    case 'keep':
    case 'dispose':
    case 'disposeOutput':
    case 'requiresGrad':
    case 'retainGrad':
    case 'assignHost':
      return [];
    case 'orderKeys':
      return [effect.which];
    case 'seed':
      return [effect.value];
    case 'drawNumbers':
      return [effect.count];
    default:
      return assertNever(effect, 'effect');
  }
}

/** Returns the recipes of the tensors that the effect changes or disposes, and of its condition. */
export function targetsOf(effect: Effect): readonly Recipe[] {
  switch (effect.kind) {
    case 'requiresGrad':
    case 'retainGrad':
    case 'setGrad':
    case 'keep':
      return [effect.tensor];
    case 'dispose':
      return present([effect.when]);
    case 'disposeOutput':
      return present([effect.output, effect.when]);
    case 'setProperty':
    case 'fillArray':
    case 'changeCollection':
    case 'fillCollection':
    case 'deleteProperty':
    case 'assignHost':
    case 'orderKeys':
    case 'seed':
    case 'drawNumbers':
      return [];
    default:
      return assertNever(effect, 'effect');
  }
}

export function changedBy(effect: Effect): Source | null {
  switch (effect.kind) {
    case 'setProperty':
    case 'deleteProperty':
    case 'orderKeys':
    case 'assignHost':
      return effect.object;
    case 'fillArray':
      return effect.array;
    case 'changeCollection':
    case 'fillCollection':
      return effect.collection;
    case 'dispose':
      return effect.tensor;
    case 'requiresGrad':
      return effect.tensor.kind === 'source' ? effect.tensor.source : null;
    case 'keep':
    case 'disposeOutput':
    case 'retainGrad':
    case 'setGrad':
    case 'seed':
    case 'drawNumbers':
      return null;
    default:
      return assertNever(effect, 'effect');
  }
}

function present(recipes: readonly (Recipe | null | undefined)[]): Recipe[] {
  return recipes.filter((recipe) => recipe !== null && recipe !== undefined);
}
