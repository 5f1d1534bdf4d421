/** Locations in a structure whose value depends on the path taken. */

import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { constantOf } from '../../state/facts.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { ListTreeSpec, ListVariable } from '../../variables/growable-list.ts';
import type {
  ConstantVariable,
  DeviceScalar,
  SymbolicVariable,
  TensorVariable,
  UnbackedTensor,
  Variable,
} from '../../variables/variable.ts';

/** The number of an option, from the number that it has among those of another union. */
export interface Renumbered {
  readonly kind: 'renumbered';
  readonly which: Tensor;
  readonly to: readonly number[];
}

/** One of several tensors of one form, between which the tag of another union chooses. */
export interface OneOf {
  readonly kind: 'oneOf';
  readonly which: Tensor;
  /** Null: the path does not produce this option. */
  readonly options: readonly (TensorVariable | null)[];
}

/** A tensor with only some sizes known where the paths merge. */
export interface Opened {
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
 * The columns of known elements for one list, where another path has an array of data-dependent length. Null: they
 * can't be put into such lists, because they are a union, or a list of a narrower form. Null: it can't be put into such
 * lists, being a union, or a list of a narrower form.
 */
export interface NewList {
  readonly kind: 'newList';
  readonly elements: readonly Variable[] | null;
  readonly form: ListTreeSpec;
  /** The index among the lists of the form. */
  readonly index: number;
}

/** A location in a structure whose value depends on the path taken. */
export interface Leaf {
  readonly kind: 'tensor' | 'number' | 'boolean' | 'list' | 'dynamic';
  /** One value per path; null where it is dead. */
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

/** The tensors of known shape that a value of a leaf may be. */
export function tensorsOf(value: LeafVariable | null | undefined): readonly TensorVariable[] {
  if (value?.kind === 'tensor') return [value];
  return value?.kind === 'oneOf' ? value.options.filter((option) => option !== null) : [];
}
