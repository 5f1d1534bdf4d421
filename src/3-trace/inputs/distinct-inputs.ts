import { gradEnabled } from '../../../runtime/autograd/grad-mode.ts';
import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';
import type { Holder } from '../../../runtime/device/holder.ts';
import type { Program, ValueId } from '../../../runtime/program/program.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { Guard } from '../../guards/guard.ts';
import type { Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import type { TensorInput, TraceInput } from './trace-input.ts';

/**
 * Returns guards that inputs with several gradient contributions are distinct tensors. If two of them were the
 * same tensor, eager execution would sum the contributions in another order, which changes the last bit.
 */
export function distinctInputs(
  inputs: readonly TraceInput[],
  { inputs: ids, ops }: Program,
): Guard[] {
  if (!gradEnabled()) return [];
  const differentiable = inputs.flatMap(({ source, tensor }, i) =>
    tensor.requiresGrad ? [{ source, id: ids[i]! }] : [],
  );
  const uses = new Map<ValueId, number>();
  for (const { inputs: operands, regions, call } of ops) {
    // Programs inside an op may read an operand any number of times.
    const times = regions || call ? 2 : 1;
    for (const id of operands) uses.set(id, (uses.get(id) ?? 0) + times);
  }
  const multiple = differentiable.filter(({ id }) => {
    return differentiable.length > 1 && (uses.get(id) ?? 0) > 1;
  });
  if (multiple.length === 0) return [];
  const apart = new Set(multiple.map(({ id }) => id));
  return distinct(
    multiple,
    differentiable.filter(({ id }) => !apart.has(id)),
  );
}

type Sourced = readonly Pick<TraceInput, 'source'>[];

function distinct(inputs: Sourced, others: Sourced): Guard[] {
  const [sources, rest] = [inputs, others].map((each) => each.map(({ source }) => source));
  return [{ kind: 'distinct', sources: sources!, others: rest! }];
}

/**
 * Returns a guard that the tensors whose gradients are requested are no other inputs. A gradient flows only to the
 * inputs that were the requested tensor when the function was traced.
 */
export function distinctTargets(
  inputs: readonly TensorInput[],
  targets: ReadonlySet<Tensor>,
): Guard[] {
  const tensors = inputs.filter(({ actual, list }) => targets.has(actual) && !list);
  const others = inputs.filter(({ actual, tensor, list }) => {
    return tensor.requiresGrad && !targets.has(actual) && !list;
  });
  if (tensors.length === 0 || tensors.length + others.length === 1) return [];
  return distinct(tensors, others);
}

/**
 * Returns guards for tensors that the function disposes or whose `requiresGrad` it changes: each must alias the
 * same inputs in later calls.
 */
export function disposedInputs(
  inputs: readonly TensorInput[],
  disposed: ReadonlyMap<Tensor, { readonly source: Source | null }>,
): Guard[] {
  const sources = [...disposed.values()].flatMap(({ source }) => source ?? []);
  if (sources.length === 0) return [];
  const others: Source[] = [];
  const guards: Guard[] = [];
  for (const { source: other, actual } of inputs) {
    const source = disposed.get(actual)?.source;
    if (!source) others.push(other);
    else if (sourceKey(source) !== sourceKey(other)) {
      guards.push({ kind: 'same', source, other, same: true });
    }
  }
  return [...guards, { kind: 'distinct', sources, others }];
}

/**
 * Returns a guard that no array element that receives gradients is also another input: such elements are
 * identified by index alone.
 */
export function distinctElements(inputs: readonly TraceInput[]): Guard[] {
  const differentiable = inputs.filter(({ tensor }) => gradEnabled() && tensor.requiresGrad);
  const elements = differentiable.filter(({ list }) => list);
  const others = differentiable.filter(({ list }) => !list);
  return elements.length > 0 ? distinct(elements, others) : [];
}

/** Returns the groups of inputs that are views of one memory; none if the number of inputs varies. */
export function viewsOfOne(inputs: readonly TensorInput[]): readonly (readonly number[])[] {
  if (inputs.some(({ list }) => list)) return [];
  const groups = new Map<Holder, number[]>();
  for (const [i, { actual }] of inputs.entries()) {
    if (actual.holder) getOrInsert(groups, actual.holder, () => []).push(i);
  }
  return [...groups.values()].filter(({ length }) => length > 1);
}
