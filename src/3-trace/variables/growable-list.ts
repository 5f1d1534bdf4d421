/** The data model of arrays of data-dependent length. */

import type { TensorSpec } from '../../../runtime/device/tensor-meta.ts';
import type { UserPosition } from '../../../runtime/errors/position.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { Code } from '../../vm/bytecode/code.ts';
import type { Pc } from '../../vm/bytecode/instructions.ts';
import type {
  ConstantVariable,
  DeviceScalar,
  FunctionVariable,
  NewObjectVariable,
  ObjectVariable,
} from './variable.ts';

/**
 * A graph value with any number of elements, which are tensors of one dtype and shape, numbers or booleans. It
 * represents an array of data-dependent length, or one leaf of all its elements.
 */
export interface ListVariable {
  readonly kind: 'list';
  readonly tensor: Tensor;
  readonly of: 'tensor' | 'number' | 'boolean';
  /** The number of list levels between this list and its elements: 0 unless it is a list of lists. */
  readonly depth: number;
}

/** The structure that all elements of an array of data-dependent length share. */
export type ListTreeSpec =
  | LeafForm
  /** A value that is the same in all elements. */
  | { readonly kind: 'same'; readonly value: ConstantVariable | ObjectVariable | FunctionVariable }
  | { readonly kind: 'array'; readonly parts: readonly ListTreeSpec[] }
  | {
      readonly kind: 'object';
      readonly entries: readonly (readonly [string, ListTreeSpec])[];
      readonly prototype: NewObjectVariable['prototype'];
    }
  /** A nested array of any length. */
  | { readonly kind: 'list'; readonly of: ListTreeSpec };

/** A leaf that is stored in a separate list. */
export interface LeafForm {
  readonly kind: 'leaf';
  readonly of: ListVariable['of'];
  readonly spec: TensorSpec;
  /** The position of the element that the others must match. */
  readonly at: UserPosition | undefined;
}

/** The location of a call instruction. */
export interface CallSite {
  readonly code: Code;
  readonly pc: Pc;
}

/** The location of an array literal. */
export interface AllocationSite extends CallSite {
  readonly grows: boolean;
}

/** The content of an array of data-dependent length: parallel lists, one per leaf of `form`, in order. */
export interface GrowableList {
  readonly form: ListTreeSpec;
  readonly lists: readonly ListVariable[];
  readonly length: DeviceScalar;
}
