import type { CapturedFrame, UserPosition } from '../../../runtime/errors/position.ts';
import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
import type { TextPart } from '../../../runtime/program/number-text.ts';
import type { TypedArray } from '../../../runtime/spec/dtype.ts';
import type { Shape } from '../../../runtime/spec/shape.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { CollectionType } from '../../guards/collection-slots.ts';
import type { HostTypeName } from '../../guards/host-types.ts';
import type { NumberExpr } from '../../guards/number-expr.ts';

import type { Source } from '../../guards/source.ts';
import type { Primitive } from '../../vm/bytecode/instructions.ts';
import type { ClassVariable, ClosureVariable } from './function-variables.ts';
import type { AllocationSite, GrowableList, ListVariable } from './growable-list.ts';
import type {
  GeneratorVariable,
  IteratorRecordVariable,
  IteratorVariable,
} from './iterator-variables.ts';
import type { TensorList } from './tensor-list.ts';

/**
 * A value during tracing. A pre-existing value has a source, and is guarded only once the trace depends on it. A
 * value created in the trace has no source and is created again on every run.
 */
export type Variable =
  | TensorVariable
  | ConstantVariable
  | SymbolicVariable
  | DeviceScalar
  | TextVariable
  | UnionVariable
  | ListVariable
  | UnbackedTensor
  | ObjectVariable
  | FunctionVariable
  | ClosureVariable
  | ClassVariable
  | BoundVariable
  | NewArrayVariable
  | NewObjectVariable
  | NewCollectionVariable
  | NewTypedArrayVariable
  | NewHostVariable
  | NewPromiseVariable
  | RegExpVariable
  | CellVariable
  | IteratorVariable
  | IteratorRecordVariable
  | GeneratorVariable
  | UninitializedVariable;

export interface TensorVariable {
  readonly kind: 'tensor';
  /** Where it was read from; null for op results. */
  readonly source: Source | null;
  /** The user's tensor at the source. */
  readonly actual: Tensor | null;
  /** Its value in the program under construction; an outer tensor gets a value on first use. */
  traced: Tensor | null;
  /** Cached, because `x.shape` returns the same array each time. */
  shape: NewArrayVariable | null;
  /** `x.grad` of a tensor created in the trace. For a pre-existing tensor, `grad` is an ordinary property. */
  grad: Variable | null;
  /** True if backward also sets the `.grad` of this op result. */
  retainsGrad: boolean;
  /** True after `keep()`: the enclosing `tidy` doesn't free it. */
  isKept?: boolean;
  /** Whether it may be a tensor that the code already has: an element that was read, or a result of a path. */
  isIdentityUnknown?: boolean;
  /** Positions of the branches and loops that merged it with other tensors, latest first. */
  mergedAt?: readonly UserPosition[];
  /** Pre-existing tensors that it may alias: it is the same tensor on some paths. */
  mayAlias: readonly TensorVariable[];
  /** Tensors created in the trace that it may be: it is the same tensor on some paths. */
  mergedFrom?: readonly TensorVariable[];
}

export interface ConstantVariable {
  readonly kind: 'constant';
  readonly value: Primitive | symbol;
  /** Null if existing guards imply the value. */
  readonly source: Source | null;
  /** Whether it is a boolean that differs between calls: each run selects the numbers that depend on it. */
  readonly changes?: boolean;
}

/** A number or comparison whose value the trace doesn't depend on yet: each run computes it again. */
export interface SymbolicVariable {
  readonly kind: 'symbolic';
  readonly expr: NumberExpr;
  /** The current value. */
  readonly value: number | boolean;
  /** Where the number was read; null for a computed number. */
  readonly source: Source | null;
}

/** A number or boolean that the program computes. Decisions on it are part of the program, too. */
export interface DeviceScalar {
  readonly kind: 'scalar';
  readonly type: 'number' | 'boolean';
  /** A tensor with one element and no dimensions. */
  readonly tensor: Tensor;
  /** Where the number, or one it was computed from, was read. */
  readonly at?: UserPosition | undefined;
  /** Set if the boolean tests which option of a union was chosen: its value for each option. */
  readonly tells?: { readonly selector: UnionTag; readonly holds: readonly boolean[] };
}

/** Text that contains data-dependent numbers. It is formatted after the run, or when the program prints it. */
export interface TextVariable {
  readonly kind: 'text';
  readonly parts: readonly TextPart<DeviceScalar>[];
}

/** The program's choice among several values. Values that were chosen together share one tag. */
export interface UnionTag {
  /** The index of the chosen option. */
  readonly which: DeviceScalar;
  /** The index of the option that the current path assumes. */
  chosen: number | null;
}

/** A union of unmergeable values; operations on it are traced once per option. */
export interface UnionVariable {
  readonly kind: 'union';
  readonly selector: UnionTag;
  readonly options: readonly Variable[];
  /** Describes where the options come from, for errors. */
  readonly from: string;
}

/**
 * A tensor of data-dependent shape: computed from an array of data-dependent length, or with a data-dependent
 * size.
 */
export interface UnbackedTensor {
  readonly kind: 'dynamic';
  /** The graph value, which an in-place write replaces. Its spec has no bytes, since sizes are unknown. */
  tensor: Tensor;
  /** Whether it was written in place. */
  isWritten?: boolean;
  /** Null for data-dependent sizes. */
  readonly sizes: readonly (number | null)[];
  /** Its shape in each sample run (`variables/sample-numbers.ts`); null if the run doesn't get that far. */
  readonly shapes: readonly (Shape | null)[];
}

/** A pre-existing object, read through its source and never changed by the tracer. */
export interface ObjectVariable {
  readonly kind: 'object';
  readonly value: object;
  readonly source: Source;
}

/** A pre-existing function. It can't change if it has no source. */
export interface FunctionVariable {
  readonly kind: 'function';
  readonly value: (...args: never[]) => unknown;
  readonly source: Source | null;
}

/** A function that `bind` created in the trace. */
export interface BoundVariable {
  readonly kind: 'bound';
  readonly target: Variable;
  readonly receiver: Variable;
  readonly args: readonly Variable[];
  /** The target's name when it was bound; null for a pre-existing function, whose name can't change in the trace. */
  readonly name: Variable | null;
  readonly madeIn?: ProgramBuilder;
}

/** The content of `[a, ...outer, b]`, or of the result of `map` on such an array. */
interface ExtendedArray {
  readonly outer: ObjectVariable;
  readonly preceding: readonly Variable[];
  /** Tensors whose number depends on the length of `outer`. */
  readonly tensors: TensorList;
  /** The number of `tensors`; undefined if there is one per element. */
  readonly count?: Variable;
  /** Whether `tensors` are its elements, rather than the results of `map` on them. */
  readonly isCopy: boolean;
  /** For `outer.slice(from)`: the index of the first element. */
  readonly from?: number;
  readonly appended: Variable[];
}

export interface NewArrayVariable {
  readonly kind: 'newArray';
  readonly elements: Variable[];
  /** Set if the number of elements is data-dependent; `elements` must not be read then. */
  growable?: GrowableList | undefined;
  /** Set if it contains tensors for the elements of an array of any length; `elements` must not be read then. */
  readonly extended?: ExtendedArray;
  /** The array literal that created it, and whether the array is known to grow in branches and loops. */
  readonly born?: AllocationSite;
  /** An `arguments` object, which is iterated like an array but is not one. */
  readonly isArguments?: true;
  /** In sloppy mode, the parameters that share elements with `arguments`, by index. */
  readonly parameters?: Map<number, CellVariable>;
  /** The function whose `arguments` it is, if that function is pre-existing. */
  readonly callee?: FunctionVariable | undefined;
  /** The pre-existing array that receives this content after the run. */
  readonly outer?: ObjectVariable;
  /**
   * True if it is or was an element of an array of data-dependent length, which stores its parts instead of the
   * array itself.
   */
  listed?: boolean;
  /** True if it is frozen. */
  fixed?: boolean;
  /**
   * Named properties, such as those of a regular expression match. For `arguments`, the elements after the passed ones,
   * in ascending order.
   */
  named?: ReadonlyMap<string, Variable> | undefined;
  readonly own?: OwnPart | undefined;
}

/**
 * The object part of an instance of a user class that extends a built-in container: its prototype and named properties.
 */
export type OwnPart = NewObjectVariable;

export interface NewObjectVariable {
  readonly kind: 'newObject';
  readonly entries: Map<string, Variable>;
  /** By default `Object.prototype`. */
  readonly prototype?: ObjectVariable | null;
  /** Everything beyond string-keyed data properties. */
  traits?: ObjectTraits | undefined;
  /** The program, branch or loop body that was being traced when it was created. */
  readonly madeIn?: ProgramBuilder;
  /** The key order (see `key-order.ts`), if paths leave the keys in different orders. */
  order?: Variable | undefined;
  /** The built-in constructor, if it is an error. */
  readonly errorType?: ErrorConstructor;
  /** The frames of captured code in which an error was created, innermost first. */
  readonly thrownIn?: readonly CapturedFrame[];
  /** Set if the error was created with a cause, which is not among its keys. */
  hasCause?: true;
  /** Set if it is or was an element of an array of data-dependent length, as for arrays. */
  listed?: boolean;
}

/** Properties of an object created in the trace that have symbol keys or aren't plain data. */
export interface ObjectTraits {
  /** Attributes that differ from those of a property created by assignment. */
  readonly attributes: Map<string | symbol, Attributes>;
  readonly symbols: Map<symbol, Variable>;
  extensible: boolean;
  /** The prototype, if it was changed after creation. */
  prototype?: ObjectVariable | NewObjectVariable | null;
}

export interface Attributes {
  readonly enumerable: boolean;
  readonly configurable: boolean;
  /** False for accessors. */
  readonly writable: boolean;
  /** The functions of an accessor, which has no content. */
  readonly accessor: { readonly get: Variable | null; readonly set: Variable | null } | null;
}

/** A regular expression literal, which creates a new object each time. */
export interface RegExpVariable {
  readonly kind: 'regexp';
  readonly pattern: string;
  readonly flags: string;
  /** The index where the next search begins, for the flags g and y. */
  lastIndex: number;
}

/** A typed array created in the trace, whose numbers are known. */
export interface NewTypedArrayVariable {
  readonly kind: 'newTypedArray';
  /** The current elements; each run receives a copy. */
  readonly data: TypedArray;
  /** The program, branch or loop body that was being traced when it was created. */
  readonly madeIn: ProgramBuilder;
}

/** An instance of another built-in type: created in the trace, or the traced state of a pre-existing instance. */
export interface NewHostVariable {
  readonly kind: 'newHost';
  /** Null for types whose instances never change. */
  readonly type: HostTypeName | null;
  /** An object in the current state. */
  readonly value: object;
  /** Creates another instance, for types whose instances never change. */
  readonly build?: () => object;
  /** The pre-existing object that it represents. */
  readonly outer?: ObjectVariable;
}

/** A promise created in the trace: the result of an async function or of a `Promise` method. */
export interface NewPromiseVariable {
  readonly kind: 'newPromise';
  /**
   * `new`: resolved with the only value. Otherwise the method to call with that value, or with an array of all values.
   */
  readonly by: 'new' | PromiseMethod;
  readonly values: readonly Variable[];
  readonly madeIn: ProgramBuilder;
  /** The index among the trace's promises, which each run creates in this order. */
  readonly sequence: number;
}

export type PromiseMethod = 'all' | 'allSettled' | 'any' | 'race' | 'resolve';

/**
 * A Map or Set created in the trace, weak ones included. In a Set, key and value are the same. A WeakRef is a set
 * that contains its target.
 */
export interface NewCollectionVariable {
  readonly kind: 'newCollection';
  readonly type: CollectionType | 'WeakRef';
  /** Entries by key identity. */
  readonly entries: Map<unknown, CollectionEntry>;
  /** Inserted keys in order: iterations in progress visit them, whether or not they were present before. */
  readonly putIn: unknown[];
  /** The key order, as for an object. */
  order?: Variable | undefined;
  /** The pre-existing Map or Set that receives this content after the run. */
  readonly outer?: ObjectVariable;
  readonly own?: OwnPart | undefined;
}

export interface CollectionEntry {
  readonly key: Variable;
  readonly value: Variable;
}

/** A cell created in the trace. */
export interface CellVariable {
  readonly kind: 'cell';
  content: Variable;
  /** For a parameter in sloppy mode: the element of `arguments` that it shares. */
  readonly element?: { readonly of: NewArrayVariable; readonly index: number };
}

/** A cell created in the trace, or a pre-existing one. */
export type CellReference = CellVariable | ObjectVariable;

/** A let, const or class binding before its initialization. */
interface UninitializedVariable {
  readonly kind: 'uninitialized';
  /** Null if the trace created it. Otherwise the next call may find it initialized. */
  readonly source: Source | null;
}

export const uninitializedVariable: UninitializedVariable = { kind: 'uninitialized', source: null };

/** Returns a constant that follows from known facts and needs no guard. */
export function known(value: Primitive | symbol): ConstantVariable {
  return { kind: 'constant', value, source: null };
}

/** A missing element of an array created in the trace. */
export const hole: ConstantVariable = { kind: 'constant', value: undefined, source: null };

/** Marks an element, property or entry as absent where other paths may have it. */
export const absent: ConstantVariable = { kind: 'constant', value: Symbol('absent'), source: null };

export const undefinedVariable: ConstantVariable = known(undefined);

export function newArray(elements: readonly Variable[]): NewArrayVariable {
  return { kind: 'newArray', elements: [...elements] };
}

/** Returns the variable for a tensor of the user. */
export function outerTensor(source: Source | null, actual: Tensor): TensorVariable {
  return { kind: 'tensor', source, actual, traced: null, ...newTensor() };
}

/** Returns the variable for an op result. */
export function tracedTensor(traced: Tensor): TensorVariable {
  return { kind: 'tensor', source: null, actual: null, traced, ...newTensor() };
}

const newTensor = () => ({ shape: null, grad: null, retainsGrad: false, mayAlias: [] });

export function isPrimitive(value: unknown): value is Primitive | symbol {
  return value === null || (typeof value !== 'object' && typeof value !== 'function');
}

/** Returns the object's prototype; undefined means `Object.prototype`. */
export function prototypeOf({
  prototype,
  traits,
}: NewObjectVariable): ObjectVariable | NewObjectVariable | null | undefined {
  return traits?.prototype === undefined ? prototype : traits.prototype;
}
