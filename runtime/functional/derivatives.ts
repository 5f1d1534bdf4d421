/** Jacobians, Hessians and products with them, computed by `grad`: PyTorch's `torch.autograd.functional`. */

import { grad } from '../backward/grad.ts';
import { formatSpec } from '../device/tensor-meta.ts';
import { ArgumentError } from '../errors/errors.ts';
import { add, mul } from '../ops/arithmetic/arithmetic.ts';
import { stack } from '../ops/movement/joining.ts';
import { reshape, select } from '../ops/movement/movement.ts';
import { zerosLike } from '../ops/movement/ranges.ts';
import { expectTensorList } from '../ops/record/expect-tensors.ts';
import { sum } from '../ops/reduce/reduce.ts';
import { expectArguments, expectOptions } from '../options/expect-options.ts';
import { isTensor } from '../options/is-tensor.ts';
import { callback, flag } from '../options/option-kinds.ts';
import { sameShape, sizeOf } from '../spec/shape.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { calledAs } from './called-as.ts';
import { setGradEnabled } from './grad-enabled.ts';

export interface DerivativeOptions {
  /** Records the derivative, so that it can be differentiated too; false by default. */
  readonly createGraph?: boolean;
}

type TensorOrTensors = Tensor | readonly Tensor[];

/** A single result for a tensor; for an array an array of results, as many as the type says. */
type Like<G extends TensorOrTensors, R> = G extends Tensor ? R : { -readonly [K in keyof G]: R };

const fnKinds = { fn: callback };
const derivativeKinds = { createGraph: flag };

const listOf = (tensors: TensorOrTensors): readonly Tensor[] =>
  isTensor(tensors) ? [tensors as Tensor] : (tensors as readonly Tensor[]);

const like = <R>(tensors: TensorOrTensors, list: R[]): R | R[] =>
  isTensor(tensors) ? list[0]! : list;

/** Returns leaves that share the inputs' memory; with `createGraph`, inputs that require a gradient themselves. */
function leavesOf(owner: string, inputs: TensorOrTensors, createGraph: boolean): Tensor[] {
  const list = listOf(inputs);
  expectTensorList(owner, list);
  if (list.length === 0) {
    throw new ArgumentError({
      what: `${owner}: no inputs`,
      given: 'an empty array',
      expected: 'a tensor, or an array of tensors',
      remedy: 'pass the tensors to differentiate with respect to',
    });
  }
  return calledAs(owner, () =>
    list.map((each) => (createGraph && each.requiresGrad ? each : each.detach().requiresGrad_())),
  );
}

function called(
  owner: string,
  fn: (...inputs: Tensor[]) => TensorOrTensors,
  leaves: Tensor[],
): TensorOrTensors {
  expectArguments(owner, { fn }, fnKinds);
  const outputs = fn(...leaves);
  expectTensorList(owner, listOf(outputs));
  return outputs;
}

const zerosFor = (found: readonly (Tensor | null)[], leaves: readonly Tensor[]): Tensor[] =>
  found.map((item, i) => item ?? zerosLike(leaves[i]!));

/** Returns the gradients of the weighted outputs; zeros for inputs that they don't depend on. */
function pulledBack(
  outputs: readonly Tensor[],
  weights: readonly Tensor[],
  leaves: readonly Tensor[],
  options: { readonly createGraph: boolean; readonly retainGraph: boolean },
): Tensor[] {
  const differentiable = outputs.map(({ requiresGrad }) => requiresGrad);
  if (!differentiable.includes(true)) return leaves.map((each) => zerosLike(each));
  const found = grad(
    outputs.filter((_, i) => differentiable[i]),
    leaves,
    { ...options, gradOutputs: weights.filter((_, i) => differentiable[i]), allowUnused: true },
  );
  return zerosFor(found, leaves);
}

/** Returns one vector per tensor: the given ones or, for tensors of one element, ones. */
function vectorsFor(
  owner: string,
  tensors: readonly Tensor[],
  vectors: TensorOrTensors | null,
): Tensor[] {
  if (vectors === null && tensors.length === 1 && sizeOf(tensors[0]!.shape) === 1)
    return [add(zerosLike(tensors[0]!), 1)];
  const list = vectors === null ? [] : listOf(vectors);
  expectTensorList(owner, list);
  const fits = list.length === tensors.length;
  const isLike = (vector: Tensor, { shape, dtype }: Tensor) =>
    sameShape(vector.shape, shape) && vector.dtype === dtype;
  if (fits && list.every((item, i) => isLike(item, tensors[i]!))) return [...list];
  throw new ArgumentError({
    what: `${owner}: not a vector of the right shapes and dtypes`,
    given: vectors === null ? 'null' : list.map(formatSpec).join(', '),
    expected: tensors.map(formatSpec).join(', '),
    remedy: 'pass a tensor like each of them; none is needed for one number',
  });
}

const finished = (list: readonly Tensor[], createGraph: boolean): Tensor[] =>
  createGraph ? [...list] : list.map((item) => item.detach());

/**
 * Returns `[outputs, vᵀ·J]`: one gradient per input, given one vector per output (by default 1, for an output with one
 * element).
 */
export function vjp<const I extends TensorOrTensors, const O extends TensorOrTensors>(
  fn: (...inputs: Tensor[]) => O,
  inputs: I,
  v: TensorOrTensors | null = null,
  options: DerivativeOptions = {},
): [outputs: O, product: Like<I, Tensor>] {
  expectOptions('vjp', options, derivativeKinds);
  const { createGraph = false } = options;
  return tidy(() =>
    setGradEnabled(true, () => {
      const leaves = leavesOf('vjp', inputs, createGraph);
      const outputs = called('vjp', fn, leaves);
      const list = listOf(outputs);
      const weights = vectorsFor('vjp', list, v);
      const found = pulledBack(list, weights, leaves, { createGraph, retainGraph: createGraph });
      return [
        like(outputs, finished(list, createGraph)),
        like(inputs, finished(found, createGraph)),
      ] as [O, Like<I, Tensor>];
    }),
  );
}

/**
 * Returns `[outputs, J·v]`: one directional derivative per output, given one direction per input. Computed by two
 * backward passes: vᵀ·J is linear in v, and its derivative is J.
 */
export function jvp<const I extends TensorOrTensors, const O extends TensorOrTensors>(
  fn: (...inputs: Tensor[]) => O,
  inputs: I,
  v: TensorOrTensors | null = null,
  options: DerivativeOptions = {},
): [outputs: O, product: Like<O, Tensor>] {
  expectOptions('jvp', options, derivativeKinds);
  const { createGraph = false } = options;
  return tidy(() =>
    setGradEnabled(true, () => {
      const leaves = leavesOf('jvp', inputs, createGraph);
      const directions = vectorsFor('jvp', leaves, v);
      const outputs = called('jvp', fn, leaves);
      const list = listOf(outputs);
      const weights = list.map((each) => zerosLike(each).requiresGrad_());
      const found = pulledBack(list, weights, leaves, { createGraph: true, retainGraph: true });
      const product = pulledBack(found, directions, weights, {
        createGraph,
        retainGraph: createGraph,
      });
      return [
        like(outputs, finished(list, createGraph)),
        like(outputs, finished(product, createGraph)),
      ] as [O, Like<O, Tensor>];
    }),
  );
}

/** Returns the Jacobian of one output for each input, its rows stacked: [..output, ..input]. */
function jacobianOf(
  output: Tensor,
  leaves: readonly Tensor[],
  createGraph: boolean,
  isLast: boolean,
): Tensor[] {
  const entries = sizeOf(output.shape);
  const flat = reshape(output, [entries]);
  const rows = Array.from({ length: entries }, (_, i) =>
    pulledBack([select(flat, 0, i)], [add(zerosLike(select(flat, 0, i)), 1)], leaves, {
      createGraph,
      retainGraph: createGraph || !isLast || i < entries - 1,
    }),
  );
  return leaves.map((leaf, which) =>
    reshape(stack(rows.map((row) => row[which]!)), [...output.shape, ...leaf.shape]),
  );
}

/**
 * Returns the derivatives of every output element with respect to every input element: a tensor [..output, ..input] for
 * each pair, nested in arrays if the outputs or inputs are arrays. Runs one backward per element of the outputs.
 */
export function jacobian<const I extends TensorOrTensors, const O extends TensorOrTensors>(
  fn: (...inputs: Tensor[]) => O,
  inputs: I,
  options: DerivativeOptions = {},
): Like<O, Like<I, Tensor>> {
  return jacobians('jacobian', fn, inputs, options);
}

function jacobians<I extends TensorOrTensors, O extends TensorOrTensors>(
  owner: string,
  fn: (...inputs: Tensor[]) => O,
  inputs: I,
  options: DerivativeOptions,
): Like<O, Like<I, Tensor>> {
  expectOptions(owner, options, derivativeKinds);
  const { createGraph = false } = options;
  return tidy(() =>
    setGradEnabled(true, () => {
      const leaves = leavesOf(owner, inputs, createGraph);
      const outputs = called(owner, fn, leaves);
      const list = listOf(outputs);
      const found = list.map((each, i) =>
        like(
          inputs,
          finished(jacobianOf(each, leaves, createGraph, i === list.length - 1), createGraph),
        ),
      );
      return like(outputs, found) as Like<O, Like<I, Tensor>>;
    }),
  );
}

/** Throws ArgumentError unless the value is one tensor with one element. */
function expectOneNumber(owner: string, value: TensorOrTensors): Tensor {
  expectTensorList(owner, listOf(value));
  if (isTensor(value) && sizeOf((value as Tensor).shape) === 1) return value as Tensor;
  throw new ArgumentError({
    what: `${owner}: not a function with one number as its value`,
    given: listOf(value)
      .map(({ shape }) => `[${shape.join(',')}]`)
      .join(', '),
    expected: 'a tensor with one element',
    remedy: 'sum what the function returns, or use jacobian()',
  });
}

/**
 * Returns the second derivatives of a scalar function: a tensor [..first, ..second] for each pair of inputs. Runs one
 * backward per element of the gradient.
 */
export function hessian<const I extends TensorOrTensors>(
  fn: (...inputs: Tensor[]) => Tensor,
  inputs: I,
  options: DerivativeOptions = {},
): Like<I, Like<I, Tensor>> {
  expectArguments('hessian', { fn }, fnKinds);
  expectTensorList('hessian', listOf(inputs));
  const gradient = (...leaves: Tensor[]): TensorOrTensors => {
    const value = expectOneNumber('hessian', fn(...leaves));
    const ones = [add(zerosLike(value), 1)];
    const found = pulledBack([value], ones, leaves, { createGraph: true, retainGraph: true });
    return like(inputs, found);
  };
  return jacobians('hessian', gradient, inputs, options) as Like<I, Like<I, Tensor>>;
}

/** Returns `[value, H·v]` for a scalar function, without computing its Hessian H. */
export function hvp<const I extends TensorOrTensors>(
  fn: (...inputs: Tensor[]) => Tensor,
  inputs: I,
  v: TensorOrTensors | null = null,
  options: DerivativeOptions = {},
): [value: Tensor, product: Like<I, Tensor>] {
  expectOptions('hvp', options, derivativeKinds);
  const { createGraph = false } = options;
  return tidy(() =>
    setGradEnabled(true, () => {
      const leaves = leavesOf('hvp', inputs, createGraph);
      const vectors = vectorsFor('hvp', leaves, v);
      const value = expectOneNumber('hvp', called('hvp', fn, leaves));
      const ones = [add(zerosLike(value), 1)];
      const first = pulledBack([value], ones, leaves, { createGraph: true, retainGraph: true });
      const along = first.map((each, i) => sum(mul(each, vectors[i]!)));
      const total = along.slice(1).reduce((all, each) => add(all, each), along[0]!);
      const found = pulledBack([total], [add(zerosLike(total), 1)], leaves, {
        createGraph,
        retainGraph: createGraph,
      });
      return [finished([value], createGraph)[0]!, like(inputs, finished(found, createGraph))] as [
        Tensor,
        Like<I, Tensor>,
      ];
    }),
  );
}
