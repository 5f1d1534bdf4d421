/** Represents tensors of several known shapes as one value of data-dependent shape. */

import { contiguousMeta } from '../../../runtime/device/tensor-meta.ts';
import { contiguous } from '../../../runtime/ops/movement/movement.ts';
import { dynamicSpec } from '../../../runtime/program/dynamic-call.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { CallSite } from '../../regions/site-call.ts';
import type { Tracer } from '../state/tracer.ts';
import { sampleRuns } from '../variables/sample-numbers.ts';
import type { TensorVariable, UnbackedTensor, Variable } from '../variables/variable.ts';
import { performing } from './traced-call.ts';

type Sizes = UnbackedTensor['sizes'];

/**
 * Returns the sizes that the tensors share, with null for sizes that differ. Returns null if dtypes, devices or
 * ranks differ, or if there are none.
 */
export function commonSizes(t: Tracer, variables: readonly Variable[]): Sizes | null {
  const known = variables.map((each) => {
    if (each.kind === 'tensor') return { tensor: t.use(each), sizes: t.use(each).shape };
    return each.kind === 'dynamic' ? { tensor: each.tensor, sizes: each.sizes } : null;
  });
  const [first] = known;
  if (!first) return null;
  const { dtype, device } = first.tensor;
  const isAlike = known.every(
    (each) =>
      each?.tensor.dtype === dtype &&
      each.tensor.device === device &&
      each.sizes.length === first.sizes.length,
  );
  if (!isAlike) return null;
  return first.sizes.map((size, dim) =>
    known.every((each) => each!.sizes[dim] === size) ? size : null,
  );
}

/** Returns the tensor as a value of which only these sizes are known. */
export function unbackedShape(
  t: Tracer,
  variable: TensorVariable | UnbackedTensor,
  sizes: Sizes,
): Tensor {
  const isOpen = variable.kind === 'dynamic';
  if (isOpen && variable.sizes.join() === sizes.join()) return variable.tensor;
  if (isOpen) t.control.copied.noteShared([variable.tensor]);
  const tensor = isOpen
    ? variable.tensor
    : t.perform<Tensor>([t.use(variable)], ([x]) => contiguous(x as Tensor));
  const { dtype, device } = tensor;
  const form = isOpen ? 'dynamic' : 'tensor';
  const opening = {
    name: 'unbackedShape',
    forms: [form],
    metas: [contiguousMeta(tensor, device)],
  } as const;
  const call = {
    ...opening,
    call: ([operand]: readonly unknown[]) => operand,
    gradMode: true,
    stream: null,
    device,
    at: t.position(),
  };
  const samples = isOpen
    ? variable.shapes.map((shape) => shape ?? undefined)
    : sampleRuns.map(() => null);
  const sample = samples.find((each) => each !== undefined) ?? null;
  const site: CallSite = {
    ...opening,
    samples: [samples],
    dynamic: [true],
    list: false,
    perform: performing(call, [{ dtype, sizes }]),
  };
  const results = [contiguousMeta(dynamicSpec(dtype, sizes), device)];
  const [opened] = t.execution.appendCall({ site, sample: [sample], results }, [tensor]);
  return opened!;
}

/** Returns the variable for a value of data-dependent shape. */
export function openVariable(t: Tracer, tensor: Tensor, sizes: Sizes): UnbackedTensor {
  const unknown = sizes.map((size) => (size === null ? t.control.samples.next() : null));
  const shapes = sampleRuns.map((run) => sizes.map((size, dim) => size ?? unknown[dim]![run]!));
  return { kind: 'dynamic', tensor, sizes, shapes };
}
