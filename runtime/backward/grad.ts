import { enableGrad } from '../autograd/grad-mode.ts';
import { edgeOf, type GradientEdge, indexOf, type Key, keyOf } from '../autograd/gradient-edge.ts';
import { share } from '../autograd/share.ts';
import { formatSpec } from '../device/tensor-meta.ts';
import { ArgumentError, AutogradError } from '../errors/errors.ts';
import { expectTensorList } from '../ops/record/expect-tensors.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { isTensor } from '../options/is-tensor.ts';
import { flag, that } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { expectHistory } from './backward.ts';
import { type RunOptions, runBackward } from './engine.ts';
import { seedGradient } from './seed-gradient.ts';

export interface GradOptions {
  /** One gradient per output, null for 1 if the output has one element. Ones by default. */
  readonly gradOutputs?: Tensor | null | readonly (Tensor | null)[];
  /** Records the backward ops, so that the results can be differentiated. False by default. */
  readonly createGraph?: boolean;
  /** Keeps the saved values for another backward; defaults to `createGraph`. */
  readonly retainGraph?: boolean;
  /** Returns null for an input that the outputs don't depend on, instead of throwing. */
  readonly allowUnused?: boolean;
}

const gradKinds: OptionKinds<GradOptions> = {
  gradOutputs: that('a tensor or null, or an array of them', (value) => typeof value === 'object'),
  createGraph: flag,
  retainGraph: flag,
  allowUnused: flag,
};

type OneOrMore = Tensor | readonly Tensor[];

/** One gradient per input. */
type Gradients<I extends OneOrMore, G> = I extends Tensor ? [G] : { -readonly [K in keyof I]: G };

/**
 * Returns the gradients of `outputs` with respect to `inputs` (leaves or intermediate results), one per input.
 * Doesn't change `.grad`, and differentiates only what lies between them. The caller owns the results.
 */
export function grad<const I extends OneOrMore>(
  outputs: OneOrMore,
  inputs: I,
  options: GradOptions & { readonly allowUnused: true },
): Gradients<I, Tensor | null>;
export function grad<const I extends OneOrMore>(
  outputs: OneOrMore,
  inputs: I,
  options?: GradOptions,
): Gradients<I, Tensor>;
export function grad(outputs: OneOrMore, inputs: OneOrMore, options: GradOptions = {}): unknown {
  return gradWith(outputs, inputs, options, {});
}

/** Runs `grad` with an observer, which builds a program from the ops of this backward. */
export function gradWith(
  outputs: OneOrMore,
  inputs: OneOrMore,
  options: GradOptions,
  watch: Pick<RunOptions, 'onNode' | 'isConsumed'>,
): (Tensor | null)[] {
  expectOptions('grad', options, gradKinds);
  const { createGraph = false, retainGraph = createGraph } = options;
  const edges = listOf(inputs).map(requestedEdge);
  const found = new Map<Key, Tensor[]>();
  try {
    runBackward(rootsFor(listOf(outputs), options.gradOutputs ?? null), {
      retainGraph,
      createGraph,
      ...watch,
      inputs: edges,
      sink: (edge, gradient) => {
        const gradients = found.get(keyOf(edge)) ?? [];
        gradients[indexOf(edge)] = gradient;
        found.set(keyOf(edge), gradients);
      },
    });
    const arrived = edges.map((edge) => found.get(keyOf(edge))?.[indexOf(edge)]);
    const missing = arrived.indexOf(undefined);
    if (missing >= 0 && !options.allowUnused) throw unused(listOf(inputs)[missing]!, missing);
    // Now owned by the surrounding tidy, like any result.
    return arrived.map((gradient) => (gradient ? enableGrad(() => share(gradient)) : null));
  } finally {
    for (const gradients of found.values()) for (const each of gradients) each?.dispose();
  }
}

function listOf(tensors: OneOrMore): readonly Tensor[] {
  if (isTensor(tensors)) return [tensors as Tensor];
  expectTensorList('grad', tensors as readonly Tensor[]);
  return tensors as readonly Tensor[];
}

function requestedEdge(input: Tensor): GradientEdge {
  expectHistory('grad', input);
  return edgeOf(input);
}

function rootsFor(
  outputs: readonly Tensor[],
  gradOutputs: NonNullable<GradOptions['gradOutputs']> | null,
) {
  const seeds = gradOutputs && 'holderFor' in gradOutputs ? [gradOutputs] : gradOutputs;
  if (seeds && seeds.length !== outputs.length) {
    throw new ArgumentError({
      what: 'grad: not one gradient per output',
      given: `${seeds.length} gradients for ${outputs.length} outputs`,
      expected: 'as many as outputs, null for a single element that starts with 1',
      remedy: 'pass gradOutputs in the order of the outputs, or leave them out',
    });
  }
  for (const output of outputs) expectHistory('grad', output);
  const roots: { tensor: Tensor; gradient: Tensor }[] = [];
  try {
    outputs.forEach((tensor, i) => {
      roots.push({ tensor, gradient: seedGradient('grad', tensor, seeds?.[i] ?? null) });
    });
    return roots;
  } catch (error) {
    for (const { gradient } of roots) gradient.dispose();
    throw error;
  }
}

function unused(input: Tensor, index: number): AutogradError {
  return new AutogradError({
    what: 'grad: the outputs do not depend on an input',
    given: `input ${index}, a ${formatSpec(input)} tensor that no path leads to`,
    expected: 'inputs that the outputs were computed from',
    remedy: 'pass allowUnused: true to get null for it',
  });
}
