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
 * A value of the program with any number of elements, which are tensors of one dtype and shape, numbers or
 * booleans: an array of data-dependent length, or what its elements hold in one place.
 */
export interface ListVariable {
  readonly kind: 'list';
  readonly tensor: Tensor;
  readonly of: 'tensor' | 'number' | 'boolean';
  /** How many lists there are between this one and such elements: 0, or more of lists of lists. */
  readonly depth: number;
}

/** The structure common to all elements of such an array. */
export type ListTreeSpec =
  | LeafForm
  /** The same in all of them. */
  | { readonly kind: 'same'; readonly value: ConstantVariable | ObjectVariable | FunctionVariable }
  | { readonly kind: 'array'; readonly parts: readonly ListTreeSpec[] }
  | {
      readonly kind: 'object';
      readonly entries: readonly (readonly [string, ListTreeSpec])[];
      readonly prototype: NewObjectVariable['prototype'];
    }
  /** An array of any number of elements. */
  | { readonly kind: 'list'; readonly of: ListTreeSpec };

/** The content of a list of its own. */
export interface LeafForm {
  readonly kind: 'leaf';
  readonly of: ListVariable['of'];
  readonly spec: TensorSpec;
  /** Where the element came from that the others must be like. */
  readonly at: UserPosition | undefined;
}

/** An instruction that makes a call. */
export interface CallSite {
  readonly code: Code;
  readonly pc: Pc;
}

/** An array literal of the code. */
export interface AllocationSite extends CallSite {
  readonly grows: boolean;
}

/** The content of such an array: parallel lists, one for each leaf of the form, in its order. */
export interface GrowableList {
  readonly form: ListTreeSpec;
  readonly lists: readonly ListVariable[];
  readonly length: DeviceScalar;
}
