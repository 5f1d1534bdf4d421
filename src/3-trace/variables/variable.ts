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

/**
 * A value as the tracer knows it. A pre-existing value has a source; it costs a guard only when the
 * trace depends on it. What was created in the trace has none and is made again on every run.
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
  /** Where it came from; null for results of ops. */
  readonly source: Source | null;
  /** The user's tensor behind a source. */
  readonly actual: Tensor | null;
  /** Its value in the program under construction; an outer tensor gets one when it is first used. */
  traced: Tensor | null;
  /** `x.shape` is the same array each time. */
  shape: NewArrayVariable | null;
  /** `x.grad` of a tensor created in the trace. Of a pre-existing one it is a place like others. */
  grad: Variable | null;
  /** A result whose `.grad` backward fills too. */
  retainsGrad: boolean;
  /** The `tidy` around the call doesn't free it: `keep()`. */
  isKept?: boolean;
  /** It may be one of those that the code has met already: an element read, or what a path left. */
  mayBeKnown?: boolean;
  /** Where branches and loops have left it as one of several, the last one first. */
  mergedAt?: readonly UserPosition[];
  /** Pre-existing tensors that it is identical to on some paths. */
  mayAlias: readonly TensorVariable[];
}

export interface ConstantVariable {
  readonly kind: 'constant';
  readonly value: Primitive | symbol;
  /** Null when it follows from what is guarded already. */
  readonly source: Source | null;
}

/** A number, or a comparison of numbers, on whose value nothing depends yet: each run computes it again. */
export interface SymbolicVariable {
  readonly kind: 'symbolic';
  readonly expr: NumberExpr;
  /** At present. */
  readonly value: number | boolean;
  /** Where the number is read; null for a computed one. */
  readonly source: Source | null;
}

/** A number or boolean that the program computes; decisions on it are the program's, too. */
export interface DeviceScalar {
  readonly kind: 'scalar';
  readonly type: 'number' | 'boolean';
  /** One element, no dimensions. */
  readonly tensor: Tensor;
  /** Where the number was read, or one that it is made of. */
  readonly at?: UserPosition | undefined;
  /** The options for which it is true, if the boolean tells which option of a union was chosen. */
  readonly tells?: { readonly selector: UnionTag; readonly holds: readonly boolean[] };
}

/** Text that holds numbers of the program: made of them after the run, or when the program writes it. */
export interface TextVariable {
  readonly kind: 'text';
  readonly parts: readonly TextPart<DeviceScalar>[];
}

/** The program's choice of one of several values; values that were chosen together share one tag. */
export interface UnionTag {
  /** The number of the option. */
  readonly which: DeviceScalar;
  /** The number of the option that the current path assumes. */
  chosen: number | null;
}

/** A union of unmergeable values; operations on it are traced once per option. */
export interface UnionVariable {
  readonly kind: 'union';
  readonly selector: UnionTag;
  readonly options: readonly Variable[];
  /** Where the options come from, for errors. */
  readonly from: string;
}

/** A tensor of data-dependent shape: what is made of such an array, or at a number of the program. */
export interface UnbackedTensor {
  readonly kind: 'dynamic';
  /** A value without bytes of its own. */
  readonly tensor: Tensor;
  /** Null for data-dependent sizes. */
  readonly sizes: readonly (number | null)[];
  /** Its shape in the sample runs (`dynamic-shapes/samples.ts`); null: they don't come so far. */
  readonly shapes: readonly (Shape | null)[];
}

/** An object that existed before: read through its source, never changed by the tracer. */
export interface ObjectVariable {
  readonly kind: 'object';
  readonly value: object;
  readonly source: Source;
}

/** A function that existed before. Without a source it can't change. */
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
}

export interface NewArrayVariable {
  readonly kind: 'newArray';
  readonly elements: Variable[];
  /** Set where only the program knows how many there are; `elements` must not be read then. */
  grown?: GrowableList | undefined;
  /** The literal that it is, and whether it is known to grow in branches and loops. */
  readonly born?: AllocationSite;
  /** An `arguments` object, which is iterated like an array but is not one. */
  readonly isArguments?: true;
  /** In sloppy code, the parameters' variables by the elements that they share. */
  readonly parameters?: Map<number, CellVariable>;
  /** The function whose `arguments` it is, if that existed before. */
  readonly callee?: FunctionVariable | undefined;
  /** The pre-existing array whose content after the run it is. */
  readonly outer?: ObjectVariable;
  /** It is, or was, an element of such an array, which holds its parts and not itself. */
  listed?: boolean;
  /** Frozen: nothing of it changes any more. */
  fixed?: boolean;
  /** Properties with names, as the matches of a regular expression have. */
  readonly named?: ReadonlyMap<string, Variable>;
  readonly own?: OwnPart | undefined;
}

/** The part of an instance of a user's class that extends a container of the language's: its prototype, and its properties with names. */
export type OwnPart = NewObjectVariable;

export interface NewObjectVariable {
  readonly kind: 'newObject';
  readonly entries: Map<string, Variable>;
  /** Left out: `Object.prototype`. */
  readonly prototype?: ObjectVariable | null;
  /** The traits that it has beyond data properties with names. */
  traits?: ObjectTraits | undefined;
  /** The program, or the branch or loop of it, that was followed when it was made. */
  readonly madeIn?: ProgramBuilder;
  /** Where paths leave other orders of its keys: which one, numbered as in `key-order.ts`. */
  order?: Variable | undefined;
  /** The built-in constructor of an error. */
  readonly errorType?: ErrorConstructor;
  /** The frames of captured code that made an error, innermost first. */
  readonly thrownIn?: readonly CapturedFrame[];
  /** Set if an error was made with a cause, which is not among its keys. */
  hasCause?: true;
  /** As for an array: set if it is, or was, an element of an array whose list holds its parts. */
  listed?: boolean;
}

/** Properties of an object created in the trace that aren't plain data, or have symbols as keys. */
export interface ObjectTraits {
  /** The attributes of properties that differ from what an assignment makes. */
  readonly attributes: Map<string | symbol, Attributes>;
  readonly symbols: Map<symbol, Variable>;
  extensible: boolean;
  /** Another prototype than the one that it was made with. */
  prototype?: ObjectVariable | NewObjectVariable | null;
}

export interface Attributes {
  readonly enumerable: boolean;
  readonly configurable: boolean;
  /** False for accessors. */
  readonly writable: boolean;
  /** The functions of an accessor. The property then has no content. */
  readonly accessor: { readonly get: Variable | null; readonly set: Variable | null } | null;
}

/** A regular expression literal: another object each time. */
export interface RegExpVariable {
  readonly kind: 'regexp';
  readonly pattern: string;
  readonly flags: string;
  /** Where the next search begins, of one with the flag g or y. */
  lastIndex: number;
}

/** A typed array made inside of known numbers. */
export interface NewTypedArrayVariable {
  readonly kind: 'newTypedArray';
  /** The elements as they are now; each run gets a copy. */
  readonly data: TypedArray;
  /** The program, or the branch or loop of it, that was traced when it was made. */
  readonly madeIn: ProgramBuilder;
}

/** An instance of another built-in type: created in the trace, or what the trace knows of a pre-existing one. */
export interface NewHostVariable {
  readonly kind: 'newHost';
  /** Null for types whose instances never change. */
  readonly type: HostTypeName | null;
  /** With the state that it has now. */
  readonly value: object;
  /** Makes another one, of a type whose instances never change. */
  readonly build?: () => object;
  /** The pre-existing object that it represents. */
  readonly outer?: ObjectVariable;
}

/** A promise created in the trace, in the place of one of an async function, or by a method of `Promise`. */
export interface NewPromiseVariable {
  readonly kind: 'newPromise';
  /** `new`: resolved with the only value; else the method that is called with it, or with an array of all. */
  readonly by: 'new' | PromiseMethod;
  readonly values: readonly Variable[];
  /** Its number among the promises of the trace: each run makes them in this order. */
  readonly sequence: number;
}

export type PromiseMethod = 'all' | 'allSettled' | 'any' | 'race' | 'resolve';

/** A Map or Set created in the trace, or a weak one; of a Set, key and value are the same. A WeakRef is a set of its target. */
export interface NewCollectionVariable {
  readonly kind: 'newCollection';
  readonly type: CollectionType | 'WeakRef';
  /** Entries by the identity of their keys. */
  readonly entries: Map<unknown, CollectionEntry>;
  /** Keys put in, in their order: iterations in progress come to them, whether or not they were there before. */
  readonly putIn: unknown[];
  /** The order of the keys, as for an object. */
  order?: Variable | undefined;
  /** The pre-existing Map or Set whose content after the run it is. */
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
  /** A parameter of sloppy code: which element of `arguments` it is. */
  readonly element?: { readonly of: NewArrayVariable; readonly index: number };
}

/** A cell created in the trace, or one that existed before. */
export type CellReference = CellVariable | ObjectVariable;

/** Before the initialisation of a let, const or class. */
export interface UninitializedVariable {
  readonly kind: 'uninitialized';
  /** Null when the trace made it so; elsewhere the next call may find it initialised. */
  readonly source: Source | null;
}

export const uninitializedVariable: UninitializedVariable = { kind: 'uninitialized', source: null };

/** Creates a value that follows from known facts and needs no guard. */
export function known(value: Primitive | symbol): ConstantVariable {
  return { kind: 'constant', value, source: null };
}

/** An element that an array created in the trace lacks. */
export const hole: ConstantVariable = { kind: 'constant', value: undefined, source: null };

/** An element, property or entry that isn't there, where it may be. */
export const absent: ConstantVariable = {
  kind: 'constant',
  value: Symbol('absent'),
  source: null,
};

export const undefinedVariable: ConstantVariable = known(undefined);

export function newArray(elements: readonly Variable[]): NewArrayVariable {
  return { kind: 'newArray', elements: [...elements] };
}

/** An outer tensor, or a value of the program. */
export function tensorVariable(
  from: Partial<Pick<TensorVariable, 'source' | 'actual' | 'traced'>>,
): TensorVariable {
  const { source = null, actual = null, traced = null } = from;
  const own = { shape: null, grad: null, retainsGrad: false, mayAlias: [] } as const;
  return { kind: 'tensor', source, actual, traced, ...own };
}

/** The result of an op. */
export function tracedTensor(traced: Tensor): TensorVariable {
  return tensorVariable({ traced });
}

export function isPrimitive(value: unknown): value is Primitive | symbol {
  return value === null || (typeof value !== 'object' && typeof value !== 'function');
}

/** Returns the object that the object inherits from; undefined: `Object.prototype`. */
export function prototypeOf({
  prototype,
  traits,
}: NewObjectVariable): ObjectVariable | NewObjectVariable | null | undefined {
  return traits?.prototype === undefined ? prototype : traits.prototype;
}
