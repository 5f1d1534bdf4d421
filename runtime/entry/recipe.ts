import { DataError } from '../errors/errors.ts';
import { mapText, type TextPart, textWith } from '../program/number-text.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { itemSync } from '../tensor-methods/read.ts';
import type { NumberExprOf } from './number-expr.ts';

/** The single element of output `index`. */
export interface ScalarRecipe {
  readonly kind: 'scalar';
  readonly index: number;
  readonly type: 'number' | 'boolean';
}

/**
 * Describes how to produce a value after a run. Leaves don't depend on outputs: constants, values read from a source,
 * and numbers computed from these.
 */
export type RecipeOf<Leaf extends RecipeLeaf> =
  /** Output `index` of the program. */
  | { readonly kind: 'output'; readonly index: number }
  | ScalarRecipe
  /** Text containing single elements of outputs. */
  | { readonly kind: 'text'; readonly parts: readonly TextPart<ScalarRecipe>[] }
  /** Object `index` created by the run. */
  | { readonly kind: 'made'; readonly index: number }
  /** The union member whose index the program returns. */
  | {
      readonly kind: 'choice';
      readonly which: RecipeOf<Leaf>;
      readonly options: readonly RecipeOf<Leaf>[];
    }
  | Leaf;

interface RecipeLeaf {
  readonly kind: 'constant' | 'source' | 'number' | 'held' | 'absent';
}

export type ConstantRecipe<Value> = { readonly kind: 'constant'; readonly value: Value };

/** A value read from a location. */
export type SourceRecipe<Location> = { readonly kind: 'source'; readonly source: Location };

/** A number computed from the values that a run reads. */
export type NumberRecipe<Leaf extends { readonly kind: 'source' | 'size' }> = {
  readonly kind: 'number';
  readonly expr: NumberExprOf<Leaf>;
};

/** The results of a run of the program. */
export interface RunResults {
  readonly outputs: readonly Tensor[];
  /** The objects created by the run. */
  readonly made: unknown[];
}

export type Read<Values> = (values: Values) => unknown;

export interface RecipeCompiler<Leaf, Values> {
  leaf(leaf: Leaf): Read<Values>;
  output(index: number): Read<Values>;
}

/** Compiles a recipe once; reading it costs one closure call. */
export function compileRecipeOf<Leaf extends RecipeLeaf, Values extends RunResults>(
  recipe: RecipeOf<Leaf>,
  compiler: RecipeCompiler<Leaf, Values>,
): Read<Values> {
  switch (recipe.kind) {
    case 'output':
      return compiler.output(recipe.index);
    case 'scalar':
      return compileScalar(recipe);
    case 'text': {
      const parts = mapText(recipe.parts, compileScalar);
      return (values) => textWith(parts, (read) => read(values));
    }
    case 'made': {
      const { index } = recipe;
      return ({ made }) => made[index];
    }
    case 'choice': {
      const which = compileRecipeOf(recipe.which, compiler);
      const options = recipe.options.map((option) => compileRecipeOf(option, compiler));
      return (values) => optionOf(options, which(values))(values);
    }
    default:
      return compiler.leaf(recipe);
  }
}

function optionOf<Values>(options: readonly Read<Values>[], which: unknown): Read<Values> {
  const option = options[Number(which)];
  if (option) return option;
  throw new DataError({
    what: 'the program returned the number of an option that does not exist',
    given: String(which),
    expected: `a whole number below ${options.length}`,
    remedy: 'save the function again: its file is damaged',
  });
}

function compileScalar({ index, type }: ScalarRecipe): (values: RunResults) => number | boolean {
  return ({ outputs }) => {
    const value = itemSync(outputs[index]!);
    return type === 'boolean' ? Boolean(value) : value;
  };
}

/** Returns the recipe with its leaves mapped. */
export function mapRecipe<From extends RecipeLeaf, To extends RecipeLeaf>(
  recipe: RecipeOf<From>,
  leafOf: (leaf: From) => RecipeOf<To>,
): RecipeOf<To> {
  switch (recipe.kind) {
    case 'output':
    case 'scalar':
    case 'text':
    case 'made':
      return recipe;
    case 'choice': {
      const which = mapRecipe(recipe.which, leafOf);
      const options = recipe.options.map((option) => mapRecipe(option, leafOf));
      return { kind: 'choice', which, options };
    }
    default:
      return leafOf(recipe);
  }
}
