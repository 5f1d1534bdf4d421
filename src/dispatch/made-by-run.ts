import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { contentsOf } from '../traces/recipes.ts';
import type { Make, Recipe, TraceResult } from '../traces/trace-result.ts';
import { storedOutputs } from './materialize/apply-effects.ts';
import { compileRecipe, type RecipeReader, type RunValues } from './materialize/materialize.ts';
import type { CreatedObjects } from './ownership/owned-tensors.ts';

/** Finds the objects that a run created and only the frames reference afterwards. */
export class MadeByRun {
  readonly #containers: readonly number[];
  readonly #captured: readonly RecipeReader[];
  /** Outputs that an effect stores in an object. */
  readonly #stored: ReadonlySet<number>;

  constructor({ makes, effects }: TraceResult) {
    const references = makes.map((make) => contentsOf(make).filter(isReference));
    this.#containers = makes.flatMap((make, i) => {
      // A possibly long array of numbers is not searched for tensors.
      const holdsNumbers =
        make.kind === 'array' && make.elements.length > 0 && references[i]!.length === 0;
      return isContainer(make) && !holdsNumbers ? [i] : [];
    });
    const captured = references.filter((_, i) => !isContainer(makes[i]!));
    this.#captured = captured.flat().map(compileRecipe);
    this.#stored = storedOutputs(effects);
  }

  /**
   * Returns values referenced by iterators, generators and similar objects; must be called before effects change these.
   */
  captured(values: RunValues): readonly unknown[] {
    return this.#captured.length === 0 ? none : this.#captured.map((read) => read(values));
  }

  /** `captured`: values read before the effects. */
  of(values: RunValues, captured: readonly unknown[]): CreatedObjects {
    const { outputs, made } = values;
    const isOwn = (output: Tensor, i: number) => !this.#stored.has(i) && isNew(output, values);
    return {
      own: outputs.every(isOwn) ? outputs : outputs.filter(isOwn),
      stored: this.#stored.size === 0 ? none : this.#storedIn(values),
      containers:
        this.#containers.length === 0 ? none : this.#containers.map((i) => made[i] as object),
      captured,
    };
  }

  #storedIn(values: RunValues): readonly Tensor[] {
    const stored = [...this.#stored].map((i) => values.outputs[i]!);
    return stored.filter((each) => isNew(each, values));
  }
}

const none: readonly never[] = [];

function isNew(output: Tensor, { inputs }: RunValues): boolean {
  return !output.disposed && !inputs.includes(output);
}

/** Whether reading the container runs no user code: it has no accessors, and no error's `stack`. */
function isContainer(make: Make): boolean {
  switch (make.kind) {
    case 'array':
    case 'collection':
      return make.own === null;
    case 'extendedArray':
    case 'list':
    case 'cell':
    case 'closure':
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
