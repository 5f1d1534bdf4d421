import type { LostHistory } from '../../runtime/autograd/lost-history.ts';
import type { Device } from '../../runtime/device/device.ts';
import type {
  ListLeaf,
  MadeArray,
  MadeCollection,
  MadeList,
  MadeObject,
} from '../../runtime/entry/make.ts';
import type {
  ConstantRecipe,
  NumberRecipe,
  RecipeOf,
  SourceRecipe,
} from '../../runtime/entry/recipe.ts';
import type { CapturedFrame, UserPosition } from '../../runtime/errors/position.ts';
import type { ScalarTable } from '../../runtime/ops/numbers/symbolic-number.ts';
import type { Program } from '../../runtime/program/program.ts';
import type { SameOutput } from '../../runtime/run-program/same-outputs.ts';
import type { TypedArray } from '../../runtime/spec/dtype.ts';
import type { CalledNumber } from '../guards/called-numbers.ts';
import type { Guard } from '../guards/guard.ts';
import type { HostTypeName } from '../guards/host-types.ts';
import type { NumberExpr, TracedNumber } from '../guards/number-expr.ts';
import type { Source } from '../guards/source.ts';
import type { Code, SourceText } from '../vm/bytecode/code.ts';
import type { Closure, Frame } from '../vm/bytecode/frame.ts';
import type { Pc, Primitive, Reg } from '../vm/bytecode/instructions.ts';
import type { BreakRecord } from './graph-break.ts';
import type { Rerun } from './reruns.ts';

/** The leaves of a trace's recipes, besides the results of a run. */
export type RecipeLeaf =
  | ConstantRecipe<Primitive | symbol>
  | { readonly kind: 'held'; readonly value: object }
  | SourceRecipe<Source>
  | NumberRecipe<TracedNumber>
  /** An element, property or entry that is absent. */
  | { readonly kind: 'absent' };

/** How to get a value after a run of the subgraph. */
export type Recipe = RecipeOf<RecipeLeaf>;

export type EntryRecipe = MadeCollection<Recipe>['entries'][number];

/** The order of the keys of an object, Map or Set, determined by the run: a list of labels, as JSON. */
export interface KeyOrder {
  readonly which: Recipe;
  /** The label of each entry. */
  readonly labels: readonly string[];
}

/** Traits of an object created by each run, beyond data properties with string keys. */
export interface MadeTraits {
  readonly attributes: readonly (readonly [string | symbol, MadeAttributes])[];
  readonly symbols: readonly (readonly [symbol, Recipe])[];
  /** Properties keyed by symbols that each run creates. */
  readonly madeSymbols: readonly (readonly [symbol, Recipe])[];
  readonly extensible: boolean;
}

export interface MadeAttributes {
  readonly enumerable: boolean;
  readonly configurable: boolean;
  readonly writable: boolean;
  readonly accessor: { readonly get: Recipe | null; readonly set: Recipe | null } | null;
}

export type ObjectMake = MadeObject<Recipe> & {
  /** Null for the order of the entries. */
  readonly order: KeyOrder | null;
  /** Undefined for the prototype of object literals. */
  readonly prototype: Recipe | null | undefined;
  /** The type of a built-in error; its message is not among its keys. */
  readonly errorType: ErrorConstructor | undefined;
  /** The frames of captured code in which the error was created. */
  readonly thrownIn: readonly CapturedFrame[];
  /** Whether it has a cause, which isn't among its keys either. */
  readonly hasCause: boolean;
  readonly traits: MadeTraits | null;
};

/** An object that each run creates; later uses of the object refer to the same index. */
export type Make =
  | (MadeArray<Recipe> & {
      readonly isFrozen: boolean;
      /** Named properties. */
      readonly named: readonly (readonly [string, Recipe])[];
      /** For an instance of a user's class: its prototype and named properties. */
      readonly own: ObjectMake | null;
    })
  /** `[...array, …elements]` */
  | {
      readonly kind: 'extendedArray';
      readonly array: Recipe;
      readonly elements: readonly (Recipe | null)[];
      readonly isFrozen: boolean;
    }
  | {
      readonly kind: 'arguments';
      readonly elements: readonly (Recipe | null)[];
      readonly named: readonly (readonly [string, Recipe])[];
      /** In sloppy code, the first `count` elements alias the parameters. */
      readonly shared: { readonly count: number; readonly callee: unknown } | null;
    }
  | ObjectMake
  | (MadeCollection<Recipe> & { readonly order: KeyOrder | null; readonly own: ObjectMake | null })
  | {
      readonly kind: 'weakCollection';
      readonly type: 'WeakMap' | 'WeakSet';
      readonly entries: readonly EntryRecipe[];
      readonly own: ObjectMake | null;
    }
  | { readonly kind: 'weakRef'; readonly target: Recipe }
  /** A promise created by `new` or by a method of `Promise`; a run creates its promises in the order of `sequence`. */
  | {
      readonly kind: 'promise';
      readonly by: 'new' | 'all' | 'allSettled' | 'any' | 'race' | 'resolve';
      readonly values: readonly Recipe[];
      readonly sequence: number;
    }
  /** A new symbol in each run. */
  | { readonly kind: 'symbol'; readonly description: string | undefined }
  | { readonly kind: 'cell'; readonly content: Recipe }
  /** The parameter that an element of such an object aliases. */
  | { readonly kind: 'parameterCell'; readonly arguments: Recipe; readonly index: number }
  /** The iterator of a `for … of` over an array or a tensor, or of a `for … in` over the names of an object. */
  | {
      readonly kind: 'arrayIterator';
      readonly array: Recipe;
      readonly namesOf: Recipe | null;
      readonly next: number;
      readonly done: boolean;
    }
  /** The state of an iteration over any other iterator. */
  | {
      readonly kind: 'iteratorRecord';
      readonly iterator: Recipe;
      /** Looked up when the iteration began; null for the `next` of built-in iterators. */
      readonly next: Recipe | null;
      readonly done: boolean;
    }
  /** The object returned by `values()`, `keys()` or `entries()`, after some steps. */
  | {
      readonly kind: 'iterator';
      readonly over: Recipe;
      readonly what: 'keys' | 'values' | 'entries';
      readonly next: number;
      readonly done: boolean;
    }
  | MadeList<ElementRecipe>
  | {
      readonly kind: 'regexp';
      readonly pattern: string;
      readonly flags: string;
      readonly lastIndex: number;
    }
  | { readonly kind: 'typedArray'; readonly data: TypedArray }
  /** A typed array or DataView on shared memory. */
  | {
      readonly kind: 'view';
      readonly type: ViewConstructor;
      readonly buffer: Recipe;
      readonly byteOffset: number;
      /** In elements. */
      readonly length: number;
    }
  /** An instance of a built-in type: with the state of `value`, or as `build` creates it. */
  | { readonly kind: 'host'; readonly type: HostTypeName; readonly value: object }
  | { readonly kind: 'fixedHost'; readonly build: () => object }
  /** A generator at the start of its body, at a `yield`, or at its end. */
  | {
      readonly kind: 'generator';
      readonly state: 'start' | 'yield' | 'running' | 'done';
      readonly frame: FrameRecipe;
    }
  | {
      readonly kind: 'bound';
      readonly target: Recipe;
      readonly receiver: Recipe;
      readonly args: readonly Recipe[];
    }
  | {
      readonly kind: 'closure';
      readonly code: Code;
      readonly outer: Omit<Closure, 'cells'>;
      readonly cells: readonly Recipe[];
      readonly thisValue: Recipe;
      /** The `new.target` of an arrow that reads it. */
      readonly newTarget: Recipe | undefined;
      /** The name, if it differs from the code's name. */
      readonly name: string | undefined;
    };

/** How to build an array element from the values at its index in the lists, leaf by leaf. */
export type ElementRecipe =
  | ListLeaf
  | { readonly kind: 'same'; readonly value: Recipe }
  | { readonly kind: 'array'; readonly parts: readonly ElementRecipe[] }
  | {
      readonly kind: 'object';
      readonly entries: readonly (readonly [string, ElementRecipe])[];
      /** The prototype, as for objects that the run creates. */
      readonly prototype: Recipe | null | undefined;
    }
  /** An array: the lists contain lists, and one more list contains its length. */
  | { readonly kind: 'list'; readonly of: ElementRecipe };

/** A frame to continue with natively. */
export interface FrameRecipe {
  /** A call that was active at entry continues with all its arguments, including those not read yet. */
  readonly call:
    | { readonly kind: 'entry'; readonly frame: number }
    | {
        readonly kind: 'inlined';
        readonly closure: Omit<Closure, 'cells'>;
        /** Created while tracing or pre-existing. */
        readonly cells: readonly Recipe[];
        readonly thisValue: Recipe;
        readonly args: readonly Recipe[];
        /** `new.target`, in a call by `new`. */
        readonly newTarget: Recipe | undefined;
      };
  readonly pc: Pc;
  /** Set inside `noGrad` or `enableGrad`; undefined: the surrounding mode applies. */
  readonly gradMode: boolean | undefined;
  /** The device set by `deviceGuard`, or null; undefined: the surrounding one applies. */
  readonly guard: Device | null | undefined;
  /** The live registers. */
  readonly registers: readonly (readonly [Reg, Recipe])[];
  readonly returnTo: Reg | undefined;
}

export type Outcome =
  | { readonly kind: 'return'; readonly value: Recipe }
  /** The instruction at the top frame's pc runs natively, then tracing continues. */
  | {
      readonly kind: 'break';
      readonly record: BreakRecord;
      /** The error that eager execution would throw there. */
      readonly cause?: unknown;
      readonly frames: readonly FrameRecipe[];
      /** The call runs eagerly from the start of this trace, since eager execution rejects something in it. */
      readonly eagerly?: true;
      /** Whether a run has an effect before it gets there, or may end before. */
      readonly afterEffects?: boolean;
      /** Whether execution can only end in an exception that leaves the captured function: it runs natively. */
      readonly onlyThrows?: boolean;
    };

/** `Float32Array`, `DataView` … */
export type ViewConstructor = new (
  buffer: ArrayBuffer,
  byteOffset: number,
  length: number,
) => ArrayBufferView;

/** A change to a pre-existing object, made after the run, in program order. */
export type Effect =
  | {
      readonly kind: 'setProperty';
      readonly object: Source;
      readonly key: string | symbol;
      readonly value: Recipe;
    }
  | { readonly kind: 'deleteProperty'; readonly object: Source; readonly key: string | symbol }
  /** The run determines which keys come last, in order: `{ last }`, as JSON. */
  | { readonly kind: 'orderKeys'; readonly object: Source; readonly which: Recipe }
  /** The elements from an index on. */
  | {
      readonly kind: 'fillArray';
      readonly array: Source;
      readonly from: 0 | 'end';
      /** Null for a hole. */
      readonly items: readonly (Recipe | null)[];
      /** An array whose elements are used instead. */
      readonly list: Recipe | null;
    }
  | {
      readonly kind: 'changeCollection';
      readonly collection: Source;
      readonly operation: 'set' | 'add' | 'delete' | 'clear';
      readonly key: Recipe | null;
      readonly value: Recipe | null;
    }
  /** The complete content of a Map or Set afterwards; existing entries aren't moved if the order allows it. */
  | {
      readonly kind: 'fillCollection';
      readonly collection: Source;
      readonly entries: readonly EntryRecipe[];
      readonly order: KeyOrder | null;
    }
  /** A pre-existing instance of a built-in type receives the state of `value`. */
  | {
      readonly kind: 'assignHost';
      readonly object: Source;
      readonly type: HostTypeName;
      readonly value: object;
    }
  /** `tensor.requiresGrad_(value)` */
  | { readonly kind: 'requiresGrad'; readonly tensor: Recipe; readonly value: boolean }
  /** `tensor.retainGrad()` */
  | { readonly kind: 'retainGrad'; readonly tensor: Recipe }
  /** Sets `.grad` of a tensor created in the trace. */
  | { readonly kind: 'setGrad'; readonly tensor: Recipe; readonly value: Recipe }
  /** `keep(tensor)`, or of all elements of an array. */
  | { readonly kind: 'keep'; readonly tensor: Recipe }
  /**
   * `when`: only if this is true; null for always. `afterCheck`: if the run is rejected, the tensor may not be
   * disposed.
   */
  | {
      readonly kind: 'dispose';
      readonly tensor: Source;
      readonly when: Recipe | null;
      readonly afterCheck: boolean;
    }
  /** A result that was disposed by the end of the program, but whose handle is still reachable. */
  | { readonly kind: 'disposeOutput'; readonly output: Recipe; readonly when: Recipe | null }
  /** `seed(value)`, before the numbers drawn since. */
  | { readonly kind: 'seed'; readonly value: Recipe }
  /** The number of random numbers drawn, as counted by the program. */
  | { readonly kind: 'drawNumbers'; readonly count: Recipe };

/** How one trace serves sizes other than the traced ones. */
export interface Resized {
  /** Sizes of inputs, and numbers that determine shapes: a program is valid for one set of values. */
  readonly keys: readonly Source[];
  /** The guards that all sets of sizes share. */
  readonly guards: readonly Guard[];
  /**
   * Returns the result for the sizes in the frames, with only the guards that `guards` doesn't cover. Null if the trace
   * would have taken another path.
   */
  readonly at: (frames: readonly Frame[]) => TraceResult | null;
  /**
   * Returns the result for given values of the keys, without the arguments of a call; `frames` provide their
   * surroundings. Null also if a key is anything but a size of a contiguous tensor.
   */
  readonly atSizes: (frames: readonly Frame[], sizes: readonly number[]) => TraceResult | null;
  /** Numbers of the user's code that are derived from the keys. */
  readonly numbers: () => readonly NumberExpr[];
}

/** A decision on how to trace a loop, or a call that iterates over elements. */
export interface LoopDecision {
  readonly at: UserPosition | undefined;
  readonly why: string;
}

/** The tracer's result for the code from one entry point on. */
export interface TraceResult {
  readonly guards: readonly Guard[];
  /** The source of each input of the program. */
  readonly inputs: readonly Source[];
  /** JavaScript numbers that are the program's scalar inputs. */
  readonly numbers: readonly Source[];
  readonly scalars: ScalarTable;
  /** Sizes of results that recipes and guards read. */
  readonly sizes: readonly number[];
  /** Set if the trace also serves other sizes. */
  readonly resized: Resized | null;
  readonly needsGrad: readonly boolean[];
  /** Inputs that were views of one memory when they were traced, by their indices. */
  readonly viewsOfOne: readonly (readonly number[])[];
  /** Whether the caller may request the gradient of each output. */
  readonly differentiable: readonly boolean[];
  /** For each output, why its graph no longer has a backward; null if it has one, or no graph. */
  readonly lost: readonly (LostHistory | null)[];
  readonly program: Program;
  readonly makes: readonly Make[];
  readonly effects: readonly Effect[];
  /** Loops that were unrolled, although a graph value may end them or the user asked to keep them. */
  readonly unrolled: readonly LoopDecision[];
  /** Loops of the program whose iterations JavaScript could have counted. */
  readonly kept: readonly LoopDecision[];
  /** Code for which the trace is valid for one length of an array only, although the length varies. */
  readonly perLength: readonly LoopDecision[];
  /** Conditions that are a tensor, such as a comparison: always truthy, whatever it contains. */
  readonly truthyTensors: readonly UserPosition[];
  /** The calls of `Math.random()` and the clock that a run makes before and after it. */
  readonly called: readonly CalledNumber[];
  /** How many random numbers a run draws, if the trace determines it. */
  readonly randomNumbers: number;
  readonly outcome: Outcome;
  readonly reruns: readonly Rerun[];
  /** Indices of the outputs that are read as numbers and freed. */
  readonly reads: readonly number[];
  /** Indices of outputs contained only in some options of a choice: freed if none of these is chosen. */
  readonly optional: readonly number[];
  /** Outputs that may be the same tensor in a run. */
  readonly same: readonly SameOutput[];
  /** All locations that were read. */
  readonly places: readonly Source[];
  /** The files whose code was traced, for the lines of an error. */
  readonly sources: readonly SourceText[];
  /** Code and position of each entry frame, for names. */
  readonly codes: readonly Code[];
  readonly pcs: readonly Pc[];
}
