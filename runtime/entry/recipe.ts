import { DataError } from '../errors/errors.ts';
import { mapText, type TextPart, textWith } from '../program/number-text.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { itemSync } from '../tensor-methods/read.ts';
import type { NumberExprOf } from './number-expr.ts';

/** The single element of output number `index`. */
export interface ScalarRecipe {
  readonly kind: 'scalar';
  readonly index: number;
  readonly type: 'number' | 'boolean';
}

/**
 * How to get a value after a run. Leaves are values that depend on no output: constants, values read from
 * a source, numbers computed from such.
 */
export type RecipeOf<Leaf extends RecipeLeaf> =
  /** Output number `index` of the program. */
  | { readonly kind: 'output'; readonly index: number }
  | ScalarRecipe
  /** Text of such elements. */
  | { readonly kind: 'text'; readonly parts: readonly TextPart<ScalarRecipe>[] }
  /** Object number `index` of those that each run makes. */
  | { readonly kind: 'made'; readonly index: number }
  /** The option whose number the program returns. */
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

/** Read from a location. */
export type SourceRecipe<Location> = { readonly kind: 'source'; readonly source: Location };

/** Computed from what a run finds. */
export type NumberRecipe<Leaf extends { readonly kind: 'source' | 'size' }> = {
  readonly kind: 'number';
  readonly expr: NumberExprOf<Leaf>;
};

/** The results of a run of the program. */
export interface RunResults {
  readonly outputs: readonly Tensor[];
  /** The objects that the run makes. */
  readonly made: unknown[];
}

export type Read<Values> = (values: Values) => unknown;

export interface RecipeCompiler<Leaf, Values> {
  leaf(leaf: Leaf): Read<Values>;
  output(index: number): Read<Values>;
}

/** Compiles a recipe once; reading it costs a closure call. */
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

/** The recipe with other leaves. */
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
