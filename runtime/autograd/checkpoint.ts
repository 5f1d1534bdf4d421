import { formatSpec, type TensorSpec } from '../device/tensor-meta.ts';
import { AutogradError } from '../errors/errors.ts';
import { expectSync } from '../options/expect-arguments.ts';
import { randomState, setRandomState } from '../random/seed.ts';
import { sameShape } from '../spec/shape.ts';
import { tidy } from '../tensor/lifetime.ts';
import { Tensor } from '../tensor/tensor.ts';
import { enableGrad, gradEnabled, noGrad } from './grad-mode.ts';
import { type Deferred, SavedValue, withSaveListener } from './saved-value.ts';

/**
 * Runs `body(...inputs)` and keeps only the inputs for backward: the values that its ops would have saved are
 * recomputed when backward reaches them, with the same random numbers. Gradients reach the inputs and every
 * pre-existing tensor that `body` uses. Pass non-leaf tensors as inputs, or they are kept, too. `body` runs twice and
 * must do the same both times.
 */
export function checkpoint<Inputs extends readonly unknown[], Result>(
  body: (...inputs: Inputs) => Result,
  ...inputs: Inputs
): Result {
  expectSync('checkpoint', body, 'checkpoint((x) => layer.forward(x), x)');
  if (!gradEnabled()) return tidy(() => body(...inputs));
  const frame = new Frame(body as (...inputs: readonly unknown[]) => unknown, inputs);
  return frame.run(() => tidy(() => body(...inputs)));
}

type Input =
  | { readonly saved: SavedValue; readonly requiresGrad: boolean }
  | { readonly constant: unknown };

/** One checkpointed call: its inputs and, after recomputation, the values that its nodes read. */
class Frame {
  readonly #body: (...inputs: readonly unknown[]) => unknown;
  readonly #inputs: readonly Input[];
  readonly #random = randomState();
  /** The specs of the saved values, in order; null for leaves, which nodes keep themselves. */
  readonly #specs: (TensorSpec | null)[] = [];
  #values: (SavedValue | null)[] | null = null;
  /** The indices of values that were released before they were recomputed. */
  readonly #unneeded = new Set<number>();
  /** The number of values that nodes have not released yet. */
  #uses = 0;

  constructor(body: (...inputs: readonly unknown[]) => unknown, inputs: readonly unknown[]) {
    this.#body = body;
    this.#inputs = inputs.map((input) =>
      input instanceof Tensor
        ? { saved: new SavedValue(input, 'value'), requiresGrad: input.requiresGrad }
        : { constant: input },
    );
  }

  run<T>(forward: () => T): T {
    // Retained until all values are known: ops inside may be freed immediately.
    this.#uses++;
    try {
      return withSaveListener((value) => this.#defer(value), forward);
    } finally {
      this.#release();
    }
  }

  #defer(value: Tensor): Deferred | null {
    if (isOfProgram(value)) return null;
    // A leaf is live anyway; saving it also detects an optimizer that changes it before backward.
    if (value.requiresGrad && value.isLeaf) {
      this.#specs.push(null);
      return null;
    }
    const { dtype, shape } = value;
    const index = this.#specs.push({ dtype, shape }) - 1;
    this.#uses++;
    return {
      get: () => this.#valueAt(index),
      release: () => {
        this.#unneeded.add(index);
        this.#values?.[index]?.release();
        this.#release();
      },
    };
  }

  #release(): void {
    if (--this.#uses > 0) return;
    for (const input of this.#inputs) if ('saved' in input) input.saved.release();
  }

  #valueAt(index: number): SavedValue {
    this.#values ??= this.#recompute();
    return this.#values[index]!;
  }

  /** Runs `body` again and returns the values it saves. */
  #recompute(): (SavedValue | null)[] {
    const values: (SavedValue | null)[] = [];
    const collect = (value: Tensor): null => {
      if (isOfProgram(value)) return null;
      const expected = this.#specs[values.length];
      if (expected === undefined) throw differs(`more than ${values.length} values are saved`);
      if (expected) checkSame(expected, value);
      const isRead = expected && !this.#unneeded.has(values.length);
      values.push(isRead ? withSaveListener(null, () => new SavedValue(value, 'value')) : null);
      return null;
    };
    const now = randomState();
    setRandomState(this.#random);
    try {
      enableGrad(() => tidy(() => void withSaveListener(collect, () => this.#runAgain())));
      if (values.length < this.#specs.length) {
        throw differs(`${values.length} of ${this.#specs.length} values are saved`);
      }
      return values;
    } catch (error) {
      for (const value of values) value?.release();
      throw error;
    } finally {
      setRandomState(now);
    }
  }

  #runAgain(): void {
    const inputs = this.#inputs.map((input) => {
      if ('constant' in input) return input.constant;
      const handle = noGrad(() => input.saved.read('checkpoint', null));
      return input.requiresGrad ? handle.requiresGrad_() : handle;
    });
    this.#body(...inputs);
  }
}

/**
 * Whether the value belongs to a program under construction rather than to `body`: a captured function that `body`
 * calls may be traced in the first run and run another of its programs in the second.
 */
function isOfProgram({ traced }: Tensor): boolean {
  return traced !== null;
}

export function checkSame(expected: TensorSpec, value: Tensor): void {
  if (sameShape(expected.shape, value.shape) && expected.dtype === value.dtype) return;
  throw differs(`${formatSpec(value)} instead of ${formatSpec(expected)} is saved`);
}

export function differs(given: string): AutogradError {
  return new AutogradError({
    what: 'checkpoint: the function did different work when it was rerun',
    given,
    expected: 'the same ops on the same shapes both times',
    remedy: 'let it depend on its inputs alone, not on what changes between forward and backward',
  });
}
