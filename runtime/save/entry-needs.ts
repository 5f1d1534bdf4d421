import { partsOfData } from '../entry/make.ts';
import { numberLeaves } from '../entry/number-expr.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { SavedNumber, SavedRecipe } from './recipe.ts';
import type { SavedEffect, SavedEntry } from './saved-entry.ts';
import { describe, type GuardCheck } from './saved-guard.ts';
import { printSavedSource, type SavedSource, sourceReader } from './saved-source.ts';

/** The kind of value that an entry requires at a location. */
type Need = 'number' | 'object' | 'object but no array' | 'array' | 'tensor';

const holds: { readonly [N in Need]: (value: unknown) => boolean } = {
  number: (value) => typeof value === 'number' || typeof value === 'boolean',
  object: (value) => typeof value === 'object' && value !== null,
  'object but no array': (value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value),
  array: Array.isArray,
  tensor: (value) => value instanceof Tensor,
};

/**
 * Returns checks that the values that effects change are objects, and operands of arithmetic numbers. Guards written by
 * `save` imply them, but those of other files may not.
 */
export function entryNeeds(entry: SavedEntry): GuardCheck[] {
  const needs = new Map<string, GuardCheck>();
  const need = (kind: Need, place: SavedSource) => {
    needs.set(JSON.stringify([kind, place]), checkOf(kind, place));
  };
  const number = (of: SavedNumber): void => {
    for (const { source } of numberLeaves(of)) need('number', source);
  };
  const recipe = (of: SavedRecipe | null): void => {
    if (of?.kind === 'number') number(of.expr);
    else if (of?.kind === 'choice') [of.which, ...of.options].forEach(recipe);
  };
  for (const guard of entry.guards) if (guard.kind === 'number') number(guard.expr);
  for (const make of entry.makes) partsOfData(make).forEach(recipe);
  for (const effect of entry.effects) {
    needOfTarget(effect, need);
    if (effect.kind === 'set') recipe(effect.value);
    else if (effect.kind === 'fill') effect.items.forEach(recipe);
    else if (effect.kind === 'draw') recipe(effect.count);
  }
  recipe(entry.result);
  return [...needs.values()];
}

function checkOf(kind: Need, source: SavedSource): GuardCheck {
  const [read, isOne] = [sourceReader(source), holds[kind]];
  return (values) => {
    const found = read(values);
    if (isOne(found)) return undefined;
    const given = `${printSavedSource(source, values.state)} is ${describe(found)}`;
    return { kind: 'other', given, expected: `${/^[aeo]/.test(kind) ? 'an' : 'a'} ${kind}` };
  };
}

function needOfTarget(effect: SavedEffect, need: (kind: Need, source: SavedSource) => void): void {
  switch (effect.kind) {
    case 'disposeOutput':
    case 'keepOutput':
    case 'draw':
      return;
    case 'dispose':
      need('tensor', effect.place);
      return;
    case 'fill':
      need('array', effect.place);
      return;
    case 'set':
    case 'delete': {
      const { place } = effect;
      if (place.kind !== 'property') return;
      // An array's length only accepts certain numbers.
      const isLength = effect.kind === 'set' && place.key === 'length';
      const kind = isLength && !isLengthOf(effect.value) ? 'object but no array' : 'object';
      need(kind, place.base);
    }
  }
}

function isLengthOf(recipe: SavedRecipe): boolean {
  if (recipe.kind !== 'constant' || typeof recipe.value !== 'number') return false;
  return recipe.value >>> 0 === recipe.value;
}
