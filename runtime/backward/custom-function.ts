import { gradEnabled, noGrad } from '../autograd/grad-mode.ts';
import { SavedValue } from '../autograd/saved-value.ts';
import { share } from '../autograd/share.ts';
import { deviceGuard } from '../device/current.ts';
import type { Device } from '../device/device.ts';
import { formatSpec, type TensorSpec } from '../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { zeros } from '../ops/movement/create.ts';
import { expectArguments } from '../options/expect-options.ts';
import { arrayOf, aTensor, callback, either, orNull, that } from '../options/option-kinds.ts';
import { dtypes } from '../spec/dtype.ts';
import { sameShape } from '../spec/shape.ts';
import { GradNode, type Target, targetOf } from '../tensor/grad-node.ts';
import { isTracked, keep, tensorsIn, tidy } from '../tensor/lifetime.ts';
import { Tensor } from '../tensor/tensor.ts';

/** Shared by `forward` and `backward`; callers may add their own properties for constants. */
export interface FunctionContext {
  /** Keeps tensors for backward and detects in-place changes until then. */
  saveForBackward(...tensors: readonly Tensor[]): void;
  /** The saved tensors in order, for backward. */
  readonly savedTensors: readonly Tensor[];
  /** Whether each input's gradient is needed. */
  readonly needsInputGrad: readonly boolean[];
  [constant: string]: unknown;
}

type Outputs = Tensor | readonly Tensor[];
type Gradients = Tensor | null | readonly (Tensor | null)[];

export interface CustomFunction<Inputs extends readonly unknown[], Result extends Outputs> {
  /** The name in error messages. */
  readonly name?: string;
  /** Computes the result without recording. */
  readonly forward: (ctx: FunctionContext, ...inputs: Inputs) => Result;
  /** Receives one gradient per output (zeros if none arrived) and returns one per input of `forward`. */
  readonly backward: (ctx: FunctionContext, ...gradOutputs: Tensor[]) => Gradients;
}

/**
 * Returns a function with a custom gradient. `forward` and `backward` run inside `tidy`, which frees temporaries, except
 * tensors in the context, which live as long as the graph. With `createGraph`, `backward` is recorded like any other
 * code, so it can be differentiated again.
 */
export function customFunction<Inputs extends readonly unknown[], const Result extends Outputs>(
  rules: CustomFunction<Inputs, Result>,
): (...inputs: Inputs) => Result {
  const { forward, backward } = Object(rules) as Partial<CustomFunction<Inputs, Result>>;
  expectArguments('customFunction', { forward, backward }, ruleKinds);
  const called = (...inputs: Inputs) => applyRules(rules, inputs);
  functions.set(called, rules as unknown as AnyFunction);
  return called;
}

const ruleKinds = { forward: callback, backward: callback };

type AnyFunction = CustomFunction<readonly unknown[], Outputs>;

const functions = new WeakMap<object, AnyFunction>();

/** Returns the rules of a function that `customFunction` returned; undefined for any other function. */
export function rulesOf(fn: object): AnyFunction | undefined {
  return functions.get(fn);
}

class Context implements FunctionContext {
  [constant: string]: unknown;
  readonly needsInputGrad: readonly boolean[];
  savedTensors: readonly Tensor[] = [];
  readonly saveForBackward: (...tensors: readonly Tensor[]) => void;

  constructor(needsInputGrad: readonly boolean[], save: (tensors: readonly Tensor[]) => void) {
    this.needsInputGrad = needsInputGrad;
    this.saveForBackward = (...tensors) => save(tensors);
  }
}

/**
 * Performs one call of the function with these rules. `keepsTraced`: for a traced call, whose context is the tracer's,
 * whether `forward` has put tensors of its own into it.
 */
export function applyRules<Inputs extends readonly unknown[], Result extends Outputs>(
  rules: CustomFunction<Inputs, Result>,
  inputs: Inputs,
  keepsTraced?: () => boolean,
): Result {
  const recorded = gradEnabled();
  const targets = inputs.map((input) =>
    recorded && input instanceof Tensor ? targetOf(input) : null,
  );
  let kept: readonly Tensor[] = [];
  const context = new Context(
    targets.map((target) => target !== null),
    (tensors) => {
      kept = tensors;
    },
  );
  return tidy(() => {
    const result: Outputs = noGrad(() => rules.forward(context, ...inputs));
    expectArguments(`forward of ${nameOf(rules)}`, { result }, forwardKinds);
    const outputs = (result instanceof Tensor ? [result] : result).map((output) =>
      // An input that is returned needs a new handle with its own history.
      output.requiresGrad || inputs.includes(output) ? output.detach() : output,
    );
    if (targets.some((target) => target !== null)) {
      const node = new FunctionNode(rules, context, targets, inputs, outputs);
      node.save(kept, inputs, outputs);
      node.keepContext(outputs, keepsTraced?.() === true);
    }
    return (result instanceof Tensor ? outputs[0] : outputs) as Result;
  });
}

const forwardKinds = { result: either(aTensor, arrayOf(aTensor)) };
const entryKind = either(
  aTensor,
  that('null', (value) => value === null || value === undefined),
);
/** No undefined: a function that returns nothing lacks a `return`. */
const backwardKinds = { result: either(orNull(aTensor), arrayOf(entryKind)) };

const nameOf = ({ name = 'customFunction' }: Pick<AnyRules, 'name'>): string => name;

interface SavedWithTarget {
  readonly value: SavedValue;
  /** Its place in the graph; null for a tensor created in `forward`. */
  readonly target: Target;
}

type AnyRules = Pick<CustomFunction<readonly never[], Outputs>, 'name' | 'backward'>;

/** The backward node of one call of a custom function. */
class FunctionNode extends GradNode {
  override readonly name: string;
  readonly #rules: AnyRules;
  readonly #context: Context;
  readonly #inputs: readonly (TensorSpec | null)[];
  readonly #outputs: readonly (TensorSpec & { readonly device: Device })[];
  #saved: readonly SavedWithTarget[] = [];
  /** Tensors created in `forward` that the context refers to. */
  #kept: readonly Tensor[] = [];
  #keepsTraced = false;

  constructor(
    rules: AnyRules,
    context: Context,
    targets: readonly Target[],
    inputs: readonly unknown[],
    outputs: readonly Tensor[],
  ) {
    const floating = outputs.filter(({ dtype }) => dtypes[dtype].floating);
    super(targets, floating.length);
    this.name = nameOf(rules);
    this.#rules = rules;
    this.#context = context;
    this.#inputs = inputs.map((input) => (input instanceof Tensor ? specOf(input) : null));
    this.#outputs = outputs.map((output) => ({ ...specOf(output), device: output.device }));
    for (const output of floating) {
      output.setGradEdge({ node: this, index: outputs.indexOf(output) });
    }
  }

  save(kept: readonly Tensor[], inputs: readonly unknown[], outputs: readonly Tensor[]): void {
    this.#saved = kept.map((tensor) => ({
      value: new SavedValue(tensor, 'value'),
      target: this.#placeOf(inputs.indexOf(tensor), outputs.indexOf(tensor)),
    }));
  }

  /**
   * Makes tensors that were created in `forward` and put into the context, by themselves or in arrays and plain objects,
   * live until the graph is freed.
   */
  keepContext(outputs: readonly Tensor[], keepsTraced: boolean): void {
    this.#keepsTraced = keepsTraced;
    // Getters, which are the user's, don't run.
    const properties = Object.values(Object.getOwnPropertyDescriptors(this.#context));
    const found = tensorsIn(properties.map(({ value }): unknown => value));
    this.#kept = found.filter((tensor) => isTracked(tensor) && !outputs.includes(tensor));
    for (const tensor of this.#kept) keep(tensor);
  }

  override get readsSaved(): boolean {
    return this.#keepsTraced || this.#saved.length + this.#kept.length > 0;
  }

  #placeOf(input: number, output: number): Target {
    if (input >= 0) return this.targets[input] ?? null;
    return output >= 0 ? { node: this, index: output } : null;
  }

  override apply(
    gradOutputs: readonly (Tensor | null | undefined)[],
    _retainGraph: boolean,
    requested: readonly boolean[],
  ): (Tensor | null)[] {
    return tidy(() => {
      const context = this.#context;
      context.savedTensors = this.#saved.map(({ value, target }) => value.read(this.name, target));
      const incoming = this.#outputs.map((spec, i) => gradOutputs[i] ?? zerosLike(spec));
      const result = this.#rules.backward(context, ...incoming);
      context.savedTensors = [];
      expectArguments(`backward of ${this.name}`, { result }, backwardKinds);
      const gradients = result === null || result instanceof Tensor ? [result] : result;
      this.#check(gradients);
      const taken = new Set<Tensor>();
      return gradients.map((gradient, i) => {
        if (!gradient || !this.targets[i] || !requested[i]) return null;
        // The engine owns the results, so a tensor with another owner is shared.
        if (!isTracked(gradient) || taken.has(gradient)) return share(gradient);
        taken.add(gradient);
        return gradient;
      });
    });
  }

  #check(gradients: readonly (Tensor | null)[]): void {
    if (gradients.length !== this.#inputs.length) {
      throw new ArgumentError({
        what: `backward of ${this.name}: not one gradient per input`,
        given: `${gradients.length} gradients for ${this.#inputs.length} inputs`,
        expected: 'one per input of forward, null for an input without a gradient',
        remedy: 'return an array with null for numbers and constants',
      });
    }
    gradients.forEach((gradient, i) => {
      const input = this.#inputs[i];
      if (!gradient || !this.targets[i] || sameShape(gradient.shape, input!.shape)) return;
      throw new ShapeError({
        what: `backward of ${this.name}: a gradient does not fit its input`,
        given: `gradient ${formatSpec(gradient)} for input ${i}, ${formatSpec(input!)}`,
        expected: formatSpec(input!),
        remedy: 'undo broadcasting and reductions in backward',
      });
    });
  }

  protected override releaseSaved(): void {
    for (const { value } of this.#saved) value.release();
    for (const tensor of this.#kept) tensor.dispose();
  }
}

function specOf({ dtype, shape }: Tensor): TensorSpec {
  return { dtype, shape };
}

/** Creates the gradient of an output that the result doesn't depend on. */
function zerosLike({ shape, dtype, device }: TensorSpec & { readonly device: Device }): Tensor {
  return deviceGuard(device, () => zeros(shape, { dtype }));
}
