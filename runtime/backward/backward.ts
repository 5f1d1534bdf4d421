import { gradEnabled } from '../autograd/grad-mode.ts';
import { edgeOf, type GradientEdge } from '../autograd/gradient-edge.ts';
import { ownsWholeHolder } from '../autograd/owned-memory.ts';
import { formatSpec } from '../device/tensor-meta.ts';
import { ArgumentError, AutogradError } from '../errors/errors.ts';
import { add } from '../ops/arithmetic/arithmetic.ts';
import { bind1 } from '../ops/core/bind.ts';
import { copy } from '../ops/core/copy.ts';
import { add_ } from '../ops/in-place/in-place.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { flag, that } from '../options/option-kinds.ts';
import { liveWith } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { runBackward, runBackwardAsync } from './engine.ts';
import { retainGrad } from './hooks.ts';
import { seedGradient } from './seed-gradient.ts';

export interface BackwardOptions {
  /** Keeps the saved values, so that the graph can be differentiated again; defaults to `createGraph`. */
  readonly retainGraph?: boolean;
  /** Records the backward ops, so that the gradients can be differentiated. False by default. */
  readonly createGraph?: boolean;
  /**
   * The tensors, leaves or results, whose `.grad` is accumulated; all leaves by default. Ops that lead to none of them
   * are not differentiated.
   */
  readonly inputs?: Tensor | readonly Tensor[];
}

const backwardKinds: OptionKinds<BackwardOptions> = {
  retainGraph: flag,
  createGraph: flag,
  inputs: that(
    'a tensor, or an array of them',
    (value) => typeof value === 'object' && value !== null,
  ),
};

/**
 * Adds the gradient of `output` to `.grad` of every leaf that requires one. `gradient` has the shape of `output` and
 * may be omitted for a single element: `backward(loss, { retainGraph: true })`. Frees the graph's saved values unless
 * `retainGraph` is set. Throws AutogradError if the tensor has no graph, or a backward has freed it.
 */
export function backward(
  output: Tensor,
  gradient?: Tensor | null | BackwardOptions,
  options?: BackwardOptions,
): void {
  const [seed, callOptions] = operandsOf(gradient, options);
  expectOptions('backward', callOptions, backwardKinds);
  const { inputs } = callOptions;
  const requested = inputs && edgesOf('backward', inputs);
  const root = rootOf('backward', output, seed);
  retainGradients(inputs);
  runBackward([root], accumulating(callOptions, requested));
}

/**
 * Like `backward`, but awaits the transfer of gradients from a GPU to leaves on another device. Code that runs
 * meanwhile must not write to saved values.
 */
export async function backwardAsync(
  output: Tensor,
  gradient?: Tensor | null | BackwardOptions,
  options?: BackwardOptions,
): Promise<void> {
  const [seed, callOptions] = operandsOf(gradient, options);
  expectOptions('backwardAsync', callOptions, backwardKinds);
  const { inputs } = callOptions;
  const requested = inputs && edgesOf('backwardAsync', inputs);
  const root = rootOf('backwardAsync', output, seed);
  retainGradients(inputs);
  await runBackwardAsync([root], accumulating(callOptions, requested));
}

/** Returns the gradient and the options. The only argument may be the options. */
function operandsOf(
  gradient: Tensor | null | BackwardOptions = null,
  options?: BackwardOptions,
): readonly [Tensor | null, BackwardOptions] {
  if (options !== undefined) return [gradient as Tensor | null, options];
  return isPlain(gradient) ? [null, gradient] : [gradient as Tensor | null, {}];
}

function isPlain(value: unknown): value is BackwardOptions {
  if (!value) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function rootOf(use: string, output: Tensor, gradient: Tensor | null) {
  expectHistory(use, output);
  return { tensor: output, gradient: seedGradient(use, output, gradient) };
}

/** Retains the gradients of results among `inputs`, after all arguments have been checked. */
function retainGradients(inputs: BackwardOptions['inputs']): void {
  if (inputs !== undefined) for (const input of listOf(inputs)) retainGrad(input);
}

const listOf = (inputs: Tensor | readonly Tensor[]): readonly Tensor[] =>
  'holderFor' in inputs ? [inputs] : inputs;

/** Returns the inputs' edges. Throws ArgumentError if there are none, AutogradError if one needs no gradient. */
export function edgesOf(use: string, inputs: Tensor | readonly Tensor[]): readonly GradientEdge[] {
  const list = listOf(inputs);
  if (list.length === 0) {
    throw new ArgumentError({
      what: `${use}: no inputs`,
      given: 'inputs: []',
      expected: 'one tensor or more',
      remedy: 'leave inputs out for the gradients of all leaves',
    });
  }
  for (const input of list) expectHistory(use, input);
  return list.map(edgeOf);
}

function accumulating(
  { createGraph = false, retainGraph = createGraph }: BackwardOptions,
  requested: readonly GradientEdge[] | undefined,
) {
  return {
    retainGraph,
    createGraph,
    ...(requested && { inputs: requested }),
    sink: (edge: GradientEdge, arrived: Tensor) => {
      if ('leaf' in edge) accumulate(edge.leaf, arrived);
      else arrived.dispose();
    },
  };
}

/** Throws if the tensor was disposed or has no gradient history. */
export function expectHistory(use: string, output: Tensor): void {
  expectTensors(use, output);
  output.traced ?? output.holderFor(use);
  if (output.requiresGrad) return;
  throw new AutogradError({
    what: `${use}: the tensor has no gradient history`,
    given: `a ${formatSpec(output)} tensor that does not require a gradient`,
    expected: 'a result computed from tensors that require gradients, outside noGrad',
    remedy: 'call requiresGrad_() on the leaves before computing',
  });
}

/**
 * The sink of `backward`. `.grad` starts as the gradient itself if nothing else owns its memory, because later
 * contributions are added in place.
 */
function accumulate(leaf: Tensor, gradient: Tensor): void {
  // Frozen since forward.
  if (!leaf.requiresGrad) {
    gradient.dispose();
    return;
  }
  if (leaf.grad) {
    addTo(leaf, leaf.grad, gradient);
    gradient.dispose();
    return;
  }
  if (ownsWholeHolder(gradient)) {
    leaf.grad = liveWith(leaf, gradient);
    return;
  }
  leaf.grad = liveWith(leaf, bind1(copy, [gradient]));
  gradient.dispose();
}

function addTo(leaf: Tensor, earlier: Tensor, gradient: Tensor): void {
  if (!gradEnabled()) {
    add_(earlier, gradient);
    return;
  }
  // With `createGraph`, the sum is recorded, so not in place.
  leaf.grad = liveWith(leaf, add(earlier, gradient));
  earlier.dispose();
}
