/** The changes that follow a run of the graph, in program order. */

import { hostType } from '../../guards/host-types.ts';
import type { Effect, Recipe } from '../../traces/trace-result.ts';
import type { Disposal, OuterArray, TakenCollection, Write } from '../effects/effects.ts';
import type { RandomStream } from '../effects/random-stream.ts';
import type { Tracer } from '../state/tracer.ts';
import { resolved } from '../variables/unions.ts';
import { absent, known } from '../variables/variable.ts';
import type { Reconstruction } from './reconstruct.ts';

/** Returns the changes to make after the run. */
export function effectRecipes({ effects, random }: Tracer, recipes: Reconstruction): Effect[] {
  const changes: Effect[] = [
    ...[...effects.writes()].flatMap((write) => propertyEffects(recipes, write)),
    ...Array.from(effects.orders(), ({ object, which }): Effect => {
      return { kind: 'orderKeys', object, which: recipes.recipe(which) };
    }),
    ...Array.from(effects.arrays(), (array) => fill(recipes, array)),
    ...Array.from(effects.collections(), (taken) => fillCollection(recipes, taken)),
    ...effects.collectionChanges.map(({ collection, operation, key, value }): Effect => {
      const [keyRecipe, valueRecipe] = [key, value].map((each) => each && recipes.recipe(each));
      const operands = { key: keyRecipe ?? null, value: valueRecipe ?? null };
      return { kind: 'changeCollection', collection, operation, ...operands };
    }),
    ...Array.from(effects.hosts(), ({ source, type, value }): Effect => {
      return { kind: 'assignHost', object: source, type, value: hostType(type).copy(value) };
    }),
    ...Array.from(effects.switched).flatMap(([tensor, { source, value }]): Effect[] => {
      // Frozen and unfrozen again, like the discriminator of a GAN: no change remains.
      if (tensor.requiresGrad === value) return [];
      return [{ kind: 'requiresGrad', tensor: { kind: 'source', source }, value }];
    }),
    ...recipes.gradients,
    ...[...effects.disposed.values()].flatMap((tensor) => disposalOf(recipes, tensor)),
    ...draws(recipes, random),
  ];
  const kept = Array.from(effects.kept.values(), (source): Effect => {
    return { kind: 'keep', tensor: { kind: 'source', source } };
  });
  const lists = effects.keepsElements ? recipes.makes.entries() : [];
  for (const [index, { kind }] of lists) {
    if (kind === 'list') kept.push({ kind: 'keep', tensor: { kind: 'made', index } });
  }
  // Kept tensors come first, since a gradient lives as long as its tensor.
  return [...recipes.kept, ...kept, ...changes];
}

function fill(recipes: Reconstruction, { source, content, whole }: OuterArray): Effect {
  const from = whole ? 0 : 'end';
  const fill = { kind: 'fillArray', array: source, from } as const;
  if (content.growable) {
    const list: Recipe = { kind: 'made', index: recipes.make(content) };
    return { ...fill, items: [], list };
  }
  return { ...fill, items: content.elements.map((item) => recipes.element(item)), list: null };
}

function fillCollection(recipes: Reconstruction, { source, content }: TakenCollection): Effect {
  const [entries, order] = [recipes.entries(content), recipes.order(content)];
  return { kind: 'fillCollection', collection: source, entries, order };
}

function draws(recipes: Reconstruction, random: RandomStream): Effect[] {
  const { position, reseeded, seedValue, count } = random;
  if (seedValue) {
    const drawn: Effect = { kind: 'drawNumbers', count: recipes.recipe(position) };
    return [{ kind: 'seed', value: recipes.recipe(seedValue) }, drawn];
  }
  const isCounted = position.kind === 'scalar';
  const drawn: Effect = {
    kind: 'drawNumbers',
    count: recipes.recipe(isCounted ? position : known(count)),
  };
  if (!reseeded) return isCounted ? [drawn] : [];
  return [{ kind: 'seed', value: { kind: 'number', expr: reseeded } }, drawn];
}

/** Returns no effect for a value that remains inside the program: it has no handle to dispose. */
function disposalOf(
  recipes: Reconstruction,
  { variable, source, when, afterCheck }: Disposal,
): Effect[] {
  const { traced } = variable;
  const condition = when && recipes.recipe(when);
  if (source) return [{ kind: 'dispose', tensor: source, when: condition, afterCheck }];
  const isSeen = recipes.outputs.has(traced!) || variable.mayAlias.length > 0;
  return isSeen
    ? [{ kind: 'disposeOutput', output: recipes.recipe(variable), when: condition }]
    : [];
}

function propertyEffects(
  recipes: Reconstruction,
  { object, key, value, reinserted }: Write,
): Effect[] {
  const removal: Effect = { kind: 'deleteProperty', object, key };
  if (resolved(value) === absent) return [removal];
  const set: Effect = { kind: 'setProperty', object, key, value: recipes.recipe(value) };
  return reinserted ? [removal, set] : [set];
}
