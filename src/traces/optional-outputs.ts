/** Outputs that a run may leave without an owner, since only options of choices contain them. */

import { placedBy, recipesIn, recipesOfFrame } from './recipes.ts';
import type { Effect, Make, Outcome, Recipe } from './trace-result.ts';

interface Recipes {
  readonly outcome: Outcome;
  readonly effects: readonly Effect[];
  readonly makes: readonly Make[];
}

/** Returns all recipes that execution continues with or that are stored. */
function rootsOf({ outcome, effects }: Recipes): readonly Recipe[] {
  const left = outcome.kind === 'return' ? [outcome.value] : outcome.frames.flatMap(recipesOfFrame);
  return [...left, ...effects.flatMap(placedBy)];
}

/** Calls `found` for each output reachable from the roots; `pick` returns which options of a choice count. */
export function eachOutput(
  recipes: Recipes,
  pick: (recipe: Recipe & { kind: 'choice' }) => readonly Recipe[],
  found: (output: number) => void,
): void {
  const visited = new Set<number>();
  const pending = [...rootsOf(recipes)];
  for (let recipe = pending.pop(); recipe; recipe = pending.pop()) {
    if (recipe.kind === 'output') found(recipe.index);
    else if (recipe.kind === 'choice') pending.push(...pick(recipe));
    else if (recipe.kind === 'made' && !visited.has(recipe.index)) {
      visited.add(recipe.index);
      pending.push(...recipesIn(recipes.makes[recipe.index]!));
    }
  }
}

/** `handles`: outputs that are contained only where another output is the same tensor. */
export function optionalOutputs(recipes: Recipes, handles: Iterable<number>): number[] {
  const [sure, possible] = [new Set<number>(), new Set<number>(handles)];
  eachOutput(
    recipes,
    () => [],
    (output) => sure.add(output),
  );
  eachOutput(
    recipes,
    ({ options }) => options,
    (output) => possible.add(output),
  );
  return [...possible].filter((output) => !sure.has(output));
}
