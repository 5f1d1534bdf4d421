/** Leaves of a structure, whose values depend on the path. */

import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf } from '../../state/value-guards.ts';
import type { ListTreeSpec, ListVariable } from '../../variables/growable-list.ts';
import type {
  ConstantVariable,
  DeviceScalar,
  SymbolicVariable,
  TensorVariable,
  UnbackedTensor,
  Variable,
} from '../../variables/variable.ts';

/** The index of an option, mapped from its index in another union. */
export interface Renumbered {
  readonly kind: 'renumbered';
  readonly which: Tensor;
  readonly to: readonly number[];
}

/** One of several tensors of the same form, selected by the tag of another union. */
export interface OneOf {
  readonly kind: 'oneOf';
  readonly which: Tensor;
  /** Null for options that the path doesn't produce. */
  readonly options: readonly (TensorVariable | null)[];
}

/** A tensor of which only some sizes are known after the paths merge. */
interface Opened {
  readonly kind: 'opened';
  readonly value: TensorVariable | UnbackedTensor;
  readonly sizes: UnbackedTensor['sizes'];
}

export type LeafVariable =
  | TensorVariable
  | DeviceScalar
  | ConstantVariable
  | SymbolicVariable
  | ListVariable
  | UnbackedTensor
  | Opened
  | NewList
  | OneOf
  | Renumbered;

/**
 * A list column built from known elements, because another path has an array of data-dependent length. `elements` is
 * null if that is impossible: for a union, or for a list of a narrower form.
 */
export interface NewList {
  readonly kind: 'newList';
  readonly elements: readonly Variable[] | null;
  readonly form: ListTreeSpec;
  /** The index among the form's lists. */
  readonly index: number;
}

/** A position in a structure whose value depends on the path. */
export interface Leaf {
  readonly kind: 'tensor' | 'number' | 'boolean' | 'list' | 'dynamic';
  /** One value per path; null if it is dead. */
  readonly values: readonly (LeafVariable | null)[];
}

/** Returns the kind of leaf that a variable is; undefined for structures. */
export function leafKind(t: Tracer, variable: Variable): Leaf['kind'] | undefined {
  const { kind } = variable;
  if (kind === 'tensor' || kind === 'list' || kind === 'dynamic') return kind;
  if (variable.kind === 'scalar') return variable.type;
  if (variable.kind !== 'constant' && variable.kind !== 'symbolic') return undefined;
  const type = typeof (variable.kind === 'constant' ? constantOf(t, variable) : variable.value);
  return type === 'number' || type === 'boolean' ? type : undefined;
}

/** Returns the tensors of known shape that a leaf's value may be. */
export function tensorsOf(value: LeafVariable | null | undefined): readonly TensorVariable[] {
  if (value?.kind === 'tensor') return [value];
  return value?.kind === 'oneOf' ? value.options.filter((option) => option !== null) : [];
}
