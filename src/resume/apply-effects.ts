import { assertNever } from '../../runtime/errors/invariant.ts';
import { keep } from '../../runtime/tensor/lifetime.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { compileReader } from '../guards/source.ts';
import type { Effect } from '../traces/trace-result.ts';
import { compileRecipe, type RunValues } from './materialize.ts';
import type { OwnedTensors } from './owned-tensors.ts';

/** One change with its operands read, ready to be made. */
type Change = () => void;

/**
 * Compiles the effects of an entry. Reading comes first, for all of them: `[a.x, b.x] = [b.x, a.x]` must
 * not see its own first half. The returned function makes the changes.
 */
export function compileEffects(
  effects: readonly Effect[],
): (values: RunValues, owned: OwnedTensors) => Change {
  const compiled = effects.map(compileEffect);
  return (values, owned) => {
    const changes = compiled.map((read) => read(values, owned));
    return () => {
      for (const change of changes) change();
    };
  };
}

function compileEffect(effect: Effect): (values: RunValues, owned: OwnedTensors) => Change {
  switch (effect.kind) {
    case 'setProperty': {
      const objectOf = compileReader(effect.object);
      const read = compileRecipe(effect.value);
      const { key } = effect;
      return (values, owned) => {
        const object = objectOf(values.frames) as object;
        const value = read(values);
        owned.escape(value);
        // As in eager execution a gradient outlives any tidy, and what else is stored does not.
        if (object instanceof Tensor && value instanceof Tensor) keep(value);
        return () => {
          (object as Record<string, unknown>)[key] = value;
        };
      };
    }
    case 'dispose': {
      const tensorOf = compileReader(effect.tensor);
      return (values) => {
        const tensor = tensorOf(values.frames) as Tensor;
        return () => tensor.dispose();
      };
    }
    default:
      return assertNever(effect, 'effect');
  }
}
