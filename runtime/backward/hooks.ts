/** Hooks that observe, and may replace, the gradient of a tensor. */

import { edgeOf, type GradientEdge } from '../autograd/gradient-edge.ts';
import { share } from '../autograd/share.ts';
import { formatSpec } from '../device/tensor-meta.ts';
import { ArgumentError, AutogradError, ShapeError } from '../errors/errors.ts';
import { add } from '../ops/arithmetic/arithmetic.ts';
import { bind1 } from '../ops/core/bind.ts';
import { copy } from '../ops/core/copy.ts';
import { expectFunction } from '../options/expect-arguments.ts';
import { shown } from '../options/expect-options.ts';
import { isTensor } from '../options/is-tensor.ts';
import { sameShape } from '../spec/shape.ts';
import { type GradHook, type GradNode, type HookEntry, retainAt } from '../tensor/grad-node.ts';
import { isTracked, keep, liveWith, tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';

export interface HookHandle {
  remove(): void;
}

/** Runs `hook` in every backward that reaches the tensor (leaf or result), in order of registration. */
export function registerHook(tensor: Tensor, hook: GradHook): HookHandle {
  expectFunction('registerHook', hook);
  expectGradient('registerHook', tensor);
  const edge = edgeOf(tensor);
  const hooks = hooksAt(edge);
  // A new entry, because the same function may be registered twice.
  const entry = { run: hook };
  hooks.push(entry);
  return {
    remove: () => {
      const index = hooks.indexOf(entry);
      if (index >= 0) hooks.splice(index, 1);
    },
  };
}

function hooksAt(edge: GradientEdge): HookEntry[] {
  if ('leaf' in edge) {
    edge.leaf.hooks ??= [];
    return edge.leaf.hooks;
  }
  const { node, index } = edge;
  node.hooks ??= [];
  node.hooks[index] ??= [];
  return node.hooks[index];
}

/** Makes backward fill `.grad` of a result, too; it is disposed with the result. No effect on leaves. */
export function retainGrad(tensor: Tensor): void {
  expectGradient('retainGrad', tensor);
  if (tensor.isLeaf || tensor.retainsGrad) return;
  tensor.retainsGrad = true;
  retainAt(tensor);
}

/** Completes the gradient of output `index`. Runs hooks first, so that all later readers see what they return. */
export function passOutput(node: GradNode, index: number, gradient: Tensor): Tensor {
  const passed = throughHooks(node.hooks?.[index], gradient);
  for (const { index: of, handle } of node.retained ?? []) {
    const result = of === index ? handle.deref() : undefined;
    // After an in-place write the handle belongs to another node.
    if (result?.gradEdge?.node === node) addToRetained(result, passed);
  }
  return passed;
}

/** Adds a gradient to `.grad` of a retained result: memory of its own, since the user may write to it in place. */
function addToRetained(tensor: Tensor, gradient: Tensor): void {
  const { grad } = tensor;
  tensor.grad = liveWith(tensor, grad ? add(grad, gradient) : bind1(copy, [gradient]));
  grad?.dispose();
}

/** Returns the gradient after all its hooks; consumes the given handle. */
export function throughHooks(
  hooks: readonly HookEntry[] | null | undefined,
  gradient: Tensor,
): Tensor {
  let current = gradient;
  try {
    for (const { run } of [...(hooks ?? [])]) {
      const next = tidy(() => replacement(current, run(current)));
      if (!next) continue;
      current.dispose();
      current = keep(next);
    }
    return current;
  } catch (error) {
    current.dispose();
    throw error;
  }
}

/** Returns the hook's result as a handle owned by the engine; null to continue with the same gradient. */
function replacement(gradient: Tensor, result: Tensor | null | undefined): Tensor | null {
  if (!result || result === gradient) return null;
  checkReplacement(gradient, result);
  return isTracked(result) ? result : share(result);
}

function checkReplacement(gradient: Tensor, result: Tensor): void {
  if (!isTensor(result)) {
    throw new ArgumentError({
      what: 'a gradient hook returned something other than a gradient',
      given: shown(result),
      expected: 'a tensor, or nothing to keep the gradient',
      remedy: 'check what the hook returns: backward waits for no promise',
    });
  }
  if (sameShape(gradient.shape, result.shape) && gradient.dtype === result.dtype) return;
  throw new ShapeError({
    what: 'a gradient hook returned a gradient that does not fit',
    given: `${formatSpec(result)} for ${formatSpec(gradient)}`,
    expected: formatSpec(gradient),
    remedy: 'return a gradient of the same shape and dtype, or nothing',
  });
}

function expectGradient(use: string, tensor: Tensor): void {
  if (tensor.requiresGrad) return;
  throw new AutogradError({
    what: `${use}: no gradient will arrive here`,
    given: `a ${formatSpec(tensor)} tensor that does not require a gradient`,
    expected: 'a leaf that requires a gradient, or a result computed from one',
    remedy: 'call requiresGrad_() on the leaf before',
  });
}
