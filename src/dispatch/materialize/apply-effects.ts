import { seed, skipNumbers } from '../../../runtime/random/seed.ts';
import { isTracked, keep, liveWith, tensorsIn } from '../../../runtime/tensor/lifetime.ts';
import { requireGrad } from '../../../runtime/tensor/require-grad.ts';
import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { hostType } from '../../guards/host-types.ts';
import { compileReader } from '../../guards/source.ts';
import { storedBy } from '../../traces/recipes.ts';
import type { Effect, Recipe } from '../../traces/trace-result.ts';
import type { OwnedTensors } from '../ownership/owned-tensors.ts';
import {
  type Change,
  compileCollectionChange,
  compileCollectionFill,
} from './change-collection.ts';
import { compileItems } from './make.ts';
import { absentValue, compileRecipe, type RecipeReader, type RunValues } from './materialize.ts';

/**
 * Compiles the effects of an entry to a function that applies them. All reads come first: in `[a.x, b.x] = [b.x, a.x]`,
 * the second read must not see the first write.
 */
export function compileEffects(effects: readonly Effect[]): CompiledEffect {
  const compiled = effects.map(compileEffect);
  return (values, owned) => {
    const changes = compiled.map((read) => read(values, owned));
    return () => {
      for (const change of changes) change();
    };
  };
}

type CompiledEffect = (values: RunValues, owned: OwnedTensors) => Change;

const compilers: {
  readonly [K in Effect['kind']]: (effect: Extract<Effect, { kind: K }>) => CompiledEffect;
} = {
  setProperty: (effect) => {
    const objectOf = compileReader(effect.object);
    const read = compileRecipe(effect.value);
    const { key } = effect;
    return (values, owned) => {
      const object = objectOf(values.frames) as object;
      const value = read(values);
      if (value === absentValue) return () => void Reflect.deleteProperty(object, key);
      owned.store(object, value);
      // As in eager execution, a gradient lives as long as its tensor.
      if (object instanceof Tensor && value instanceof Tensor && isTracked(value)) {
        liveWith(object, value);
      }
      return () => {
        (object as Record<string | symbol, unknown>)[key] = value;
      };
    };
  },
  deleteProperty: (effect) => {
    const objectOf = compileReader(effect.object);
    const { key } = effect;
    return (values) => {
      const object = objectOf(values.frames) as Record<string | symbol, unknown>;
      return () => {
        delete object[key];
      };
    };
  },
  orderKeys: (effect) => {
    const objectOf = compileReader(effect.object);
    const read = compileRecipe(effect.which);
    return (values) => {
      const object = objectOf(values.frames) as Record<string, unknown>;
      const { last } = JSON.parse(read(values) as string) as { readonly last: readonly string[] };
      return () => moveLast(object, last);
    };
  },
  fillArray: (effect) => {
    const arrayOf = compileReader(effect.array);
    const append = compileItems(effect.items);
    const { from } = effect;
    const listOf = effect.list && compileRecipe(effect.list);
    return (values, owned) => {
      const array = arrayOf(values.frames) as unknown[];
      const items = listOf ? [...(listOf(values) as unknown[])] : [];
      append(items, values);
      for (const item of items) owned.store(array, item);
      return () => {
        if (from === 0) array.length = 0;
        const start = array.length;
        array.length = start + items.length;
        // A hole remains a hole.
        items.forEach((item, i) => {
          array[start + i] = item;
        });
      };
    };
  },
  changeCollection: compileCollectionChange,
  fillCollection: compileCollectionFill,
  assignHost: (effect) => {
    const objectOf = compileReader(effect.object);
    const { assign } = hostType(effect.type);
    const { value } = effect;
    return ({ frames }) => {
      const object = objectOf(frames) as object;
      return () => assign(object, value);
    };
  },
  requiresGrad: (effect) =>
    changesTensor(effect.tensor, (tensor) => requireGrad(tensor, effect.value)),
  retainGrad: (effect) => changesTensor(effect.tensor, (tensor) => tensor.retainGrad()),
  setGrad: (effect) => {
    const [readTensor, readGrad] = [compileRecipe(effect.tensor), compileRecipe(effect.value)];
    return (values, owned) => {
      const tensor = readTensor(values) as Tensor;
      // Null on paths without a gradient.
      const grad = readGrad(values) as Tensor | null;
      if (grad) {
        owned.escape(grad);
        if (isTracked(grad)) liveWith(tensor, grad);
      }
      return () => {
        tensor.grad = grad;
      };
    };
  },
  keep: (effect) => {
    const read = compileRecipe(effect.tensor);
    return (values) => {
      for (const tensor of tensorsIn(read(values))) keep(tensor);
      return nothing;
    };
  },
  dispose: (effect) => {
    const tensorOf = compileReader(effect.tensor);
    const isDue = compileCondition(effect.when);
    return (values) => {
      const tensor = tensorOf(values.frames) as Tensor;
      return isDue(values) ? () => tensor.dispose() : nothing;
    };
  },
  disposeOutput: (effect) => {
    const read = compileRecipe(effect.output);
    const isDue = compileCondition(effect.when);
    return (values) => {
      const tensor = read(values) as Tensor;
      return isDue(values) ? () => tensor.dispose() : nothing;
    };
  },
  seed: (effect) => {
    const read = compileRecipe(effect.value);
    return (values) => {
      const value = read(values) as number;
      return () => seed(value);
    };
  },
  drawNumbers: (effect) => {
    const read = compileRecipe(effect.count);
    return (values) => {
      const count = read(values) as number;
      return () => skipNumbers(count);
    };
  },
};

function compileEffect(effect: Effect): CompiledEffect {
  return compilers[effect.kind](effect as never);
}

function changesTensor(recipe: Recipe, change: (tensor: Tensor) => void): CompiledEffect {
  const read = compileRecipe(recipe);
  return (values) => {
    const tensor = read(values) as Tensor;
    return () => change(tensor);
  };
}

function moveLast(object: Record<string, unknown>, keys: readonly string[]): void {
  for (const key of keys) {
    if (!Object.hasOwn(object, key)) continue;
    const value = object[key];
    delete object[key];
    object[key] = value;
  }
}

const nothing: Change = () => {};

function compileCondition(when: Recipe | null): RecipeReader {
  return when ? compileRecipe(when) : () => true;
}

/** Indices of the subgraph's outputs that an effect stores, and that must not be disposed. */
export function storedOutputs(effects: readonly Effect[]): ReadonlySet<number> {
  return new Set(
    effects.flatMap(storedBy).flatMap((recipe) => (recipe.kind === 'output' ? [recipe.index] : [])),
  );
}
