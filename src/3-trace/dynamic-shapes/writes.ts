/** In-place writes by calls with data-dependent shapes: their results are computed, then written. */

import { gradEnabled } from '../../../runtime/autograd/grad-mode.ts';
import { sameSpec } from '../../../runtime/device/tensor-meta.ts';
import { copy_ } from '../../../runtime/ops/in-place/in-place.ts';
import { clone } from '../../../runtime/ops/movement/movement.ts';
import { RecordedWriteInPlace } from '../../../runtime/program/recorded-write.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { isReadByGradient } from '../../regions/control-node.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { isMadeInside } from '../state/region-builder.ts';
import type { Tracer } from '../state/tracer.ts';
import { resolved } from '../variables/unions.ts';
import type { TensorVariable, UnbackedTensor, Variable } from '../variables/variable.ts';
import { functionalForm } from './functional-form.ts';

type Callable = (...args: never[]) => unknown;

/** Calls the function; if it writes to its receiver in place, calls its functional form and writes the result. */
export function written(
  t: Tracer,
  fn: Callable,
  receiver: Variable,
  call: (fn: Callable, receiver: Variable) => Variable,
): Variable {
  if (!fn.name.endsWith('_')) return call(fn, receiver);
  const target = resolved(receiver);
  switch (target.kind) {
    case 'dynamic':
      expectOnly(t, fn, target);
      return replaceBy(t, fn, target, call(functionalForm(fn), receiver));
    case 'tensor':
      expectWritable(t, fn, target);
      return overwriteBy(t, fn, target, (from) => call(functionalForm(fn), from));
    default:
      throw refused(fn, 'writes in place to a tensor that is not its receiver');
  }
}

/** Makes the tensor represent the result of the call from here on. */
function replaceBy(t: Tracer, fn: Callable, target: UnbackedTensor, result: Variable): Variable {
  const isLike = result.kind === 'dynamic' && result.tensor.dtype === target.tensor.dtype;
  if (!isLike || result.sizes.join() !== target.sizes.join()) throw otherShape(fn);
  t.journal.set(target, 'tensor', result.tensor);
  t.journal.set(target, 'isWritten', true);
  return target;
}

/** Breaks the graph if the memory may have another name, or if a gradient needs the overwritten data. */
function expectOnly(t: Tracer, fn: Callable, { tensor }: UnbackedTensor): void {
  if ((t.isInRegion && !isMadeInside(t, tensor)) || !t.control.copied.isOnly(tensor)) {
    throw refused(
      fn,
      'writes in place to a tensor that may have views or other names (write to its clone())',
    );
  }
  if (isReadByGradient(tensor) || (tensor.requiresGrad && !records(t))) {
    throw refused(fn, 'overwrites a value that a gradient needs');
  }
}

/** Eager execution names the function in its error for a leaf. */
function expectWritable(t: Tracer, fn: Callable, target: TensorVariable): void {
  const tensor = t.use(target);
  if (records(t) && tensor.requiresGrad && tensor.isLeaf) {
    throw refused(fn, 'writes in place to a leaf that requires gradients');
  }
  t.control.copied.expectNone(t.surroundings, tensor);
}

/** Thrown if the gradient of a call reads the overwritten tensor. */
class ReadsTarget extends Error {}

/** Computes the result from a copy of the tensor if its gradient reads the tensor, as eager execution does. */
function overwriteBy(
  t: Tracer,
  fn: Callable,
  target: TensorVariable,
  call: (from: Variable) => Variable,
): Variable {
  const tensor = t.use(target);
  const fromCopy = () => {
    const before = t.perform<Tensor>([tensor], ([x]) => clone(x as Tensor));
    return overwrite(t, fn, target, call(t.result(before)));
  };
  if (isReadByGradient(tensor)) return fromCopy();
  try {
    return t.attempt(() => {
      const result = call(target);
      if (isReadByGradient(tensor)) throw new ReadsTarget();
      return overwrite(t, fn, target, result);
    });
  } catch (error) {
    if (!(error instanceof ReadsTarget)) throw error;
    return fromCopy();
  }
}

/** Copies the result of the call into the memory of the tensor. */
function overwrite(t: Tracer, fn: Callable, target: TensorVariable, result: Variable): Variable {
  const tensor = t.use(target);
  const value = result.kind === 'tensor' ? t.use(result) : null;
  if (!value || !sameSpec(value, tensor)) throw otherShape(fn);
  try {
    return t.result(
      t.perform<Tensor>([tensor, value], ([to, from]) => copy_(to as Tensor, from as Tensor)),
    );
  } catch (error) {
    if (!(error instanceof RecordedWriteInPlace)) throw error;
    throw new GraphBreak('in-place', `${fn.name}() where gradients flow`);
  }
}

const records = (t: Tracer): boolean => t.top.gradMode ?? gradEnabled();

const otherShape = (fn: Callable): GraphBreak =>
  refused(fn, 'writes in place a result of another shape or dtype');

function refused({ name }: Callable, why: string): GraphBreak {
  return new GraphBreak('unbacked-shape', `${name} of data-dependent shape ${why}`);
}
