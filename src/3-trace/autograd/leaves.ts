/** `requiresGrad_()` and `detach()`, where autograd graphs begin. */

import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { bind1 } from '../../../runtime/ops/core/bind.ts';
import { aliasOp } from '../../../runtime/program/alias-op.ts';
import { requireGrad } from '../../../runtime/tensor/require-grad.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { expectOneName, expectOneTensor } from '../control-flow/merge/one-tensor.ts';
import { requiresGradAlways, withoutGraph } from '../control-flow/merge/requires-grad.ts';
import { isMadeInside } from '../state/region-builder.ts';
import { asEagerly } from '../state/rejected-eagerly.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf } from '../state/value-guards.ts';
import { callDynamically } from '../values/call-dynamically.ts';
import { type TensorVariable, undefinedVariable, type Variable } from '../variables/variable.ts';
import { expectTensor } from './expect-tensor.ts';
import { expectLeaf } from './hooks.ts';

/** Returns another handle on the same memory: in a program, a view of the whole tensor. */
export function traceDetach(t: Tracer, receiver: Variable): Variable {
  if (receiver.kind === 'dynamic') {
    return callDynamically(t, detach, undefinedVariable, [receiver])!;
  }
  return t.result(alias(t, t.use(expectTensor(receiver, 'detach'))));
}

function detach(x: Tensor): Tensor {
  return noGrad(() => bind1(aliasOp, [x]));
}

/** `x.requiresGrad_(value)`: from here on, the variable represents another graph value. */
export function traceRequiresGrad(t: Tracer, of: Variable, [flag]: readonly Variable[]): Variable {
  const receiver = expectTensor(of, 'requiresGrad_');
  const requested = flag ? constantOf(t, flag) : undefined;
  if (requested !== undefined && typeof requested !== 'boolean') {
    throw new GraphBreak('throw', 'requiresGrad_() with an argument that is not a boolean');
  }
  const value = requested ?? true;
  const tensor = t.use(receiver);
  if (t.isInRegion) return beginInside(t, receiver, tensor, value);
  if (receiver.source) expectLeaf(t, receiver);
  if (requiresGradAlways(t, tensor) === null) {
    expectOneTensor(t, receiver);
    const what = 'requiresGrad_() of a tensor that requires gradients on some paths';
    throw new GraphBreak('branch-effect', what);
  }
  if (tensor.requiresGrad === value) return receiver;
  expectOneName(t, receiver);
  // Eager execution rejects op results, whose `requiresGrad` can't be cleared.
  if (!tensor.isLeaf) asEagerly(() => requireGrad(tensor, value));
  if (receiver.source) switchOuter(t, receiver, value);
  else t.replace(receiver, value ? alias(t, tensor, 'own') : alias(t, tensor));
  return receiver;
}

/**
 * In a branch or loop, makes a tensor that was created there a leaf. Its graph and `.grad` stay inside the region.
 */
function beginInside(
  t: Tracer,
  receiver: TensorVariable,
  tensor: Tensor,
  value: boolean,
): Variable {
  if (receiver.source || !isMadeInside(t, tensor) || requiresGradAlways(t, tensor) === null) {
    throw new GraphBreak(
      'branch-effect',
      'requiresGrad_() in a branch or loop, of a tensor from before it (begin with a tensor of its own: x.detach().requiresGrad_())',
    );
  }
  if (tensor.requiresGrad === value) return receiver;
  // Eager execution rejects op results, whose `requiresGrad` can't be cleared.
  if (!tensor.isLeaf) asEagerly(() => requireGrad(tensor, value));
  const leaf = alias(t, tensor, value ? 'own' : null);
  if (value) t.autograd.leavesInside.set(leaf, t.position());
  t.replace(receiver, leaf);
  return receiver;
}

/**
 * Represents a pre-existing tensor by its input, or by an alias of the same memory with the other `requiresGrad`.
 */
function switchOuter(t: Tracer, variable: TensorVariable, value: boolean): void {
  const actual = variable.actual!;
  const input = t.inputOf(variable);
  const { switched } = t.autograd;
  const known = switched.get(actual);
  const other = known ?? (value ? alias(t, input, 'outer') : withoutGraph(t, input));
  if (!known) {
    t.journal.keepMap(switched);
    switched.set(actual, other);
  }
  t.replace(variable, input.requiresGrad === value ? input : other);
  const { autograd } = t;
  t.journal.set(autograd, 'switches', autograd.switches + 1);
  t.effects.setRequiresGrad(actual, variable.source!, value);
}

/** Returns another graph value for the same memory, as a leaf if requested. */
export function alias(t: Tracer, tensor: Tensor, leaf: 'own' | 'outer' | null = null): Tensor {
  return asEagerly(() =>
    t.perform<Tensor>([tensor], ([x]) => {
      const view = noGrad(() => bind1(aliasOp, [x as Tensor], leaf ? { leaf } : {}));
      return leaf ? requireGrad(view) : view;
    }),
  );
}
