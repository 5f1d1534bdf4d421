import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { contentsOf } from '../../traces/recipes.ts';
import type { Make, Recipe, TraceResult } from '../../traces/trace-result.ts';
import { storedOutputs } from '../apply-effects.ts';
import { compileRecipe, type RecipeReader, type RunValues } from '../materialize.ts';

/** Which results and objects of an entry's runs only the frames hold afterwards. */
export class MadeByRun {
  readonly #containers: readonly number[];
  readonly #captured: readonly RecipeReader[];
  /** Outputs that an effect puts into an object. */
  readonly #stored: ReadonlySet<number>;

  constructor({ makes, effects }: TraceResult) {
    this.#containers = makes.flatMap((make, i) => (isContainer(make) ? [i] : []));
    const captured = makes.flatMap((make) => (isContainer(make) ? [] : contentsOf(make)));
    this.#captured = captured.filter(isReference).map(compileRecipe);
    this.#stored = storedOutputs(effects);
  }

  /** Results that no effect has stored. */
  own(values: RunValues): Tensor[] {
    return values.outputs.filter((output, i) => !this.#stored.has(i) && isNew(output, values));
  }

  /** Results that an effect has stored, perhaps in a container of the frames'. */
  stored(values: RunValues): Tensor[] {
    return [...this.#stored].map((i) => values.outputs[i]!).filter((each) => isNew(each, values));
  }

  /** Arrays, objects, Maps and Sets that frames, effects and each other hold. */
  containers({ made }: RunValues): object[] {
    return this.#containers.map((i) => made[i] as object);
  }

  /** What the closures, cells, iterators and generators of the run hold. */
  captured(values: RunValues): unknown[] {
    return this.#captured.map((read) => read(values));
  }
}

function isNew(output: Tensor, { inputs }: RunValues): boolean {
  return !output.disposed && !inputs.includes(output);
}

/** Reading one runs nothing of the user's: no accessors, and no `stack` of an error. */
function isContainer(make: Make): boolean {
  switch (make.kind) {
    case 'array':
    case 'collection':
    case 'list':
      return true;
    case 'object':
      return !make.errorType && !make.traits?.attributes.some(([, { accessor }]) => accessor);
    default:
      return false;
  }
}

function isReference({ kind }: Recipe): boolean {
  return kind !== 'constant' && kind !== 'number' && kind !== 'scalar' && kind !== 'text';
}
