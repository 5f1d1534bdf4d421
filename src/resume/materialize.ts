import { assertNever } from '../../runtime/errors/invariant.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import type { Cell, Frame } from '../bytecode/frame.ts';
import { compileNumber } from '../guards/number-expr.ts';
import { compileReader } from '../guards/source.ts';
import type { FrameRecipe, Make, Recipe } from '../traces/trace-result.ts';
import { arrayIteratorAt, instantiate } from './interpreter.ts';

/** What recipes are read from after a run of the graph. */
export interface RunValues {
  /** The frames that the entry was entered with. */
  readonly frames: readonly Frame[];
  readonly outputs: readonly Tensor[];
  /** Filled by `Makers`. */
  readonly made: unknown[];
}

export type RecipeReader = (values: RunValues) => unknown;

/** Compiles a recipe once; reading it costs a closure call. */
export function compileRecipe(recipe: Recipe): RecipeReader {
  switch (recipe.kind) {
    case 'constant':
    case 'held': {
      const { value } = recipe;
      return () => value;
    }
    case 'source': {
      const read = compileReader(recipe.source);
      return ({ frames }) => read(frames);
    }
    case 'number': {
      const read = compileNumber(recipe.expr);
      return ({ frames }) => read(frames);
    }
    case 'output': {
      const { index } = recipe;
      return ({ outputs }) => outputs[index];
    }
    case 'made': {
      const { index } = recipe;
      return ({ made }) => made[index];
    }
    default:
      return assertNever(recipe, 'recipe');
  }
}

/** Makes the objects of one run: first empty ones, then their contents, so that cycles close. */
export function compileMakes(makes: readonly Make[]): (values: RunValues) => void {
  const compiled = makes.map(compileMake);
  // Closures take their cells when they are made, so they come after everything that is empty first.
  const shells = compiled.flatMap((make, i) => ('empty' in make ? [{ i, make }] : []));
  const others = compiled.flatMap((make, i) => ('build' in make ? [{ i, make }] : []));
  return (values) => {
    for (const { i, make } of shells) values.made[i] = make.empty();
    for (const { i, make } of others) values.made[i] = make.build(values);
    for (const { i, make } of shells) make.fill(values.made[i], values);
  };
}

type CompiledMake =
  | { readonly empty: () => unknown; readonly fill: (made: unknown, values: RunValues) => void }
  | { readonly build: RecipeReader };

function compileMake(make: Make): CompiledMake {
  switch (make.kind) {
    case 'array': {
      const elements = make.elements.map(compileRecipe);
      return {
        empty: () => [],
        fill: (made, values) => {
          for (const read of elements) (made as unknown[]).push(read(values));
        },
      };
    }
    case 'object': {
      const entries = make.entries.map(([key, recipe]) => [key, compileRecipe(recipe)] as const);
      return {
        empty: () => ({}),
        fill: (made, values) => {
          for (const [key, read] of entries) (made as Record<string, unknown>)[key] = read(values);
        },
      };
    }
    case 'cell': {
      const read = compileRecipe(make.content);
      return {
        empty: (): Cell => ({ value: undefined }),
        fill: (made, values) => {
          (made as Cell).value = read(values);
        },
      };
    }
    case 'arrayIterator': {
      const array = compileRecipe(make.array);
      const { next } = make;
      return { build: (values) => arrayIteratorAt(array(values) as unknown[], next) };
    }
    case 'closure': {
      const cells = make.cells.map(compileRecipe);
      const thisValue = compileRecipe(make.thisValue);
      const { code, outer, name } = make;
      return {
        build: (values) => {
          const made = instantiate(
            code,
            outer.scope,
            cells.map((read) => read(values) as Cell),
            thisValue(values),
            code.kind === 'arrow' ? outer.homeObject : undefined,
          );
          if (name === undefined) return made;
          return Object.defineProperty(made, 'name', { value: name, configurable: true });
        },
      };
    }
    default:
      return assertNever(make, 'make');
  }
}

/** Compiles a frame to go on with. */
export function compileFrame(recipe: FrameRecipe): (values: RunValues) => Frame {
  const callOf = compileCall(recipe.call);
  const registers = recipe.registers.map(([reg, value]) => [reg, compileRecipe(value)] as const);
  const { pc, returnTo, gradMode } = recipe;
  return (values) => {
    const call = callOf(values);
    const { registerCount } = call.closure.code;
    const frame: Frame = {
      ...call,
      pc,
      registers: new Array<unknown>(registerCount).fill(undefined),
      gradMode,
      returnTo,
    };
    for (const [reg, read] of registers) frame.registers[reg] = read(values);
    return frame;
  };
}

type Call = Pick<Frame, 'closure' | 'thisValue' | 'args' | 'newTarget'>;

function compileCall(recipe: FrameRecipe['call']): (values: RunValues) => Call {
  if (recipe.kind === 'entry') {
    return ({ frames }) => {
      const { closure, thisValue, args, newTarget } = frames[recipe.frame]!;
      return { closure, thisValue, args, newTarget };
    };
  }
  const { closure } = recipe;
  const cells = recipe.cells.map(compileRecipe);
  const thisValue = compileRecipe(recipe.thisValue);
  const args = recipe.args.map(compileRecipe);
  return (values) => ({
    closure: { ...closure, cells: cells.map((read) => read(values) as Cell) },
    thisValue: thisValue(values),
    args: args.map((read) => read(values)),
    newTarget: undefined,
  });
}
