/** Converts the leaves of merged structures to graph values, and back. */

import { noGrad } from '../../../../runtime/autograd/grad-mode.ts';
import { deviceGuard } from '../../../../runtime/device/current.ts';
import type { Device } from '../../../../runtime/device/device.ts';
import { InvariantError, invariant } from '../../../../runtime/errors/invariant.ts';
import { full } from '../../../../runtime/ops/movement/create.ts';
import { asStrided } from '../../../../runtime/ops/movement/place.ts';
import { where } from '../../../../runtime/ops/pointwise/comparison.ts';
import { eq } from '../../../../runtime/ops/pointwise/pointwise.ts';
import { dynamicSpec } from '../../../../runtime/program/dynamic-call.ts';
import { elementSpec } from '../../../../runtime/program/list-ops.ts';
import { extentOf } from '../../../../runtime/spec/shape.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import { openVariable, unbackedShape } from '../../dynamic-shapes/unbacked-shape.ts';
import { isAround, isMadeInside } from '../../state/region-builder.ts';
import { guardNumbers, guardValue } from '../../state/symbolic-guards.ts';
import type { Tracer } from '../../state/tracer.ts';
import { isNull } from '../../state/value-guards.ts';
import type {
  SymbolicVariable,
  TensorVariable,
  UnbackedTensor,
  Variable,
} from '../../variables/variable.ts';
import { growableOf, listOfTensors } from '../lists/list-elements.ts';
import { type Column, columnsOf, formText } from '../lists/list-tree-spec.ts';
import { type Leaf, type NewList, type Renumbered, tensorsOf } from '../numbers/leaf.ts';
import { asNumber, asTruth, constantTensor, numberTensor } from '../numbers/scalars.ts';
import { sizeGuess } from '../numbers/size-guess.ts';
import { chosenTensor } from './chosen-tensor.ts';
import { leafLeaves } from './leaves-inside.ts';

/**
 * Returns a path's value for a leaf, in the program under construction; zeros if it is unused. `disposed`: tensors that
 * the path disposed.
 */
export function leafTensor(
  t: Tracer,
  leaf: Leaf,
  path: number,
  device: Device,
  disposed: ReadonlySet<Tensor> = none,
): Tensor {
  const value = leaf.values[path];
  if (!value) return placeholder(t, leaf, device);
  switch (value.kind) {
    case 'tensor':
      return tensorLeft(t, value, disposed);
    case 'oneOf':
      return chosenTensor(
        t,
        value.which,
        value.options.map((option) => option && tensorLeft(t, option, disposed)),
      );
    case 'scalar':
      return leaf.kind === 'boolean' ? asTruth(t, value) : asNumber(t, value);
    case 'symbolic':
      return symbolicTensor(t, value, device);
    case 'list':
    case 'dynamic':
      return value.tensor;
    case 'opened':
      return unbackedShape(t, value.value, value.sizes);
    case 'newList':
      return newList(t, value);
    case 'renumbered':
      return renumbered(t, value);
    case 'constant':
      return constantTensor(t, value.value as number | boolean, device);
  }
}

function tensorLeft(t: Tracer, variable: TensorVariable, disposed: ReadonlySet<Tensor>): Tensor {
  if (disposed.has((variable.actual ?? variable.traced)!)) {
    throw new GraphBreak('branch-effect', 'a disposed tensor leaves a branch or loop');
  }
  const tensor = t.use(variable);
  const { grad, source } = variable;
  // The result of a branch or loop would have no `.grad`.
  if (!source && grad && !isNull(t, grad) && isMadeInside(t, tensor)) throw leafLeaves(t, tensor);
  return tensor;
}

function renumbered(t: Tracer, { which, to }: Renumbered): Tensor {
  const numbers = to.map((number) => constantTensor(t, number, which.device));
  return t.runApi(() =>
    noGrad(() => numbers.reduceRight((rest, number, i) => where(eq(which, i), number, rest))),
  );
}

/** Returns a symbolic number as a graph value. A comparison is guarded instead. */
export function symbolicTensor(t: Tracer, variable: SymbolicVariable, device: Device): Tensor {
  const symbol =
    typeof variable.value === 'number' ? t.numbers.attribute(variable.expr) : undefined;
  if (symbol === undefined) return constantTensor(t, guardValue(t, variable), device);
  guardNumbers(t, variable);
  return numberTensor(t, variable.expr, device);
}

function placeholder(t: Tracer, leaf: Leaf, device: Device): Tensor {
  if (leaf.kind === 'list') return emptyList(t, columnOf(leaf));
  if (leaf.kind === 'dynamic') return emptyOpen(t, leaf);
  if (leaf.kind !== 'tensor') return constantTensor(t, leaf.kind === 'boolean' ? false : 0, device);
  const samples = leaf.values.flatMap(tensorsOf).map((value) => t.use(value));
  invariant(samples[0], 'a leaf has a value on one path');
  const known = samples.find((sample) => isAround(t.surroundings, sample));
  if (known) {
    return t.perform<Tensor>([known], ([like]) => {
      const { shape, strides } = like as Tensor;
      return zeros(like as Tensor, shape, strides, device);
    });
  }
  const [sample] = samples;
  const sizes = sample.shape.map((size) => sizeGuess(t, size));
  const steps = sample.strides.map((stride) => sizeGuess(t, stride));
  return t.perform<Tensor>([sizes, steps], ([shape, strides]) => {
    return zeros(sample, shape as number[], strides as number[], device);
  });
}

/** Returns zeros with the dtype and the layout of the sample: contiguous, or with these strides. */
function zeros(
  { dtype, isContiguous }: Tensor,
  shape: readonly number[],
  strides: readonly number[],
  device: Device,
): Tensor {
  const filled = (sizes: readonly number[]) =>
    deviceGuard(device, () => full([...sizes], 0, { dtype }));
  if (isContiguous) return filled(shape);
  return asStrided(filled([extentOf(shape, strides)]), { shape, strides, offset: 0 });
}

/** Returns the variable for a graph value that represents a leaf. */
export function leafVariable(t: Tracer, leaf: Leaf, tensor: Tensor): Variable {
  const { kind } = leaf;
  if (kind === 'list') {
    const { of, depth } = columnOf(leaf);
    return { kind: 'list', tensor, of, depth };
  }
  if (kind === 'dynamic') {
    const { keptOpen } = t.effects;
    if (leaf.values.some((each) => keptOpen.has((each as UnbackedTensor)?.tensor)))
      keptOpen.add(tensor);
    return dynamicLike(t, leaf, tensor);
  }
  if (kind !== 'tensor') return { kind: 'scalar', type: kind, tensor };
  const at = t.position();
  const merged = leaf.values.flatMap(tensorsOf);
  for (const { traced } of at ? merged : []) if (traced) t.control.noteMerged(traced, at!);
  // A path's value may already be the result of an earlier merge.
  const before = merged.flatMap(({ mergedAt = [] }) => mergedAt);
  const mergedAt = [...new Set(at ? [at, ...before] : before)];
  return Object.assign(t.result(tensor), {
    mayAlias: outerOf(leaf),
    mergedFrom: madeOf(merged),
    isIdentityUnknown: true,
    isKept: merged.some(({ isKept }) => isKept),
    mergedAt,
  });
}

/** Returns the pre-existing tensors among the paths' values, which the result may alias. */
export function outerOf({ values }: Leaf): readonly TensorVariable[] {
  const found = new Set<TensorVariable>();
  for (const value of values.flatMap(tensorsOf)) {
    if (value.source) found.add(value);
    for (const each of value.mayAlias) found.add(each);
  }
  return found.size === 0 ? noTensors : [...found];
}

/** Returns the tensors created in the trace among the merged ones, including earlier merges. */
function madeOf(merged: readonly TensorVariable[]): readonly TensorVariable[] {
  const found = new Set<TensorVariable>();
  for (const each of merged) {
    if (!each.source) found.add(each);
    for (const earlier of each.mergedFrom ?? []) found.add(earlier);
  }
  return [...found];
}

function newList(t: Tracer, { elements, form, index }: NewList): Tensor {
  if (elements) return growableOf(t, elements, form).lists[index]!.tensor;
  throw new GraphBreak(
    'unbacked-list',
    `an array whose length differs from path to path would become one of any number of ${formText(t, form)}`,
  );
}

function emptyList(t: Tracer, column: Column): Tensor {
  return listOfTensors(t, [], column);
}

/** Returns the column of a list leaf. */
export function columnOf({ values }: Leaf): Column {
  for (const value of values) {
    if (value?.kind === 'list') {
      return { of: value.of, depth: value.depth, spec: elementSpec(value.tensor) };
    }
    if (value?.kind === 'newList') return columnsOf(value.form)[value.index]!;
  }
  throw new InvariantError('a leaf has a value on one path');
}

/** Returns the known sizes of a leaf of data-dependent shape. */
export function knownSizes({ values }: Leaf): UnbackedTensor['sizes'] {
  for (const value of values) {
    if (value?.kind === 'dynamic' || value?.kind === 'opened') return value.sizes;
  }
  throw new InvariantError('a leaf has a value on one path');
}

function dynamicLike(t: Tracer, leaf: Leaf, tensor: Tensor): UnbackedTensor {
  const found = leaf.values.find((value) => value?.kind === 'dynamic');
  if (found) return { ...(found as UnbackedTensor), tensor };
  return openVariable(t, tensor, knownSizes(leaf));
}

/** Returns a placeholder for an unused value, which has no elements. */
function emptyOpen(t: Tracer, leaf: Leaf): Tensor {
  const found = leaf.values.flatMap((value) => {
    if (value?.kind === 'dynamic') return [value.tensor];
    if (value?.kind !== 'opened') return [];
    return [value.value.kind === 'dynamic' ? value.value.tensor : t.use(value.value)];
  });
  const { dtype, device } = found[0]!;
  const { shape } = dynamicSpec(dtype, knownSizes(leaf));
  return t.runApi(() => noGrad(() => deviceGuard(device, () => full(shape, 0, { dtype }))));
}

const none: ReadonlySet<Tensor> = new Set();
const noTensors: readonly TensorVariable[] = [];
