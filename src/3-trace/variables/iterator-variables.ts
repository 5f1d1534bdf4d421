/** Variables for iterations and generators. */

import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
import type { CallSite } from './growable-list.ts';
import type { TraceFrame } from './trace-frame.ts';
import type {
  DeviceScalar,
  NewArrayVariable,
  NewCollectionVariable,
  NewTypedArrayVariable,
  ObjectVariable,
  TensorVariable,
  Variable,
} from './variable.ts';

/** The object that an iterator created in the trace iterates over. */
export type IteratedVariable =
  | NewArrayVariable
  | ObjectVariable
  | NewCollectionVariable
  | NewTypedArrayVariable;

/** The object that `array.values()`, `map.entries()` and similar methods return. */
export interface IteratorVariable {
  readonly kind: 'iterator';
  readonly over: IteratedVariable;
  readonly what: 'keys' | 'values' | 'entries';
  /** The number of steps taken. An array's length is read at each step, as in JavaScript. */
  next: number;
  /** Keys of a Map or Set that the iterator has passed, except keys that were inserted again since. */
  readonly passed: Set<unknown>;
  /** The number of inserted keys (`putIn`) that the iterator has processed. */
  heard: number;
  /** The position as a device scalar, for an array of data-dependent length. */
  position?: DeviceScalar | undefined;
  done: boolean;
  /** The program under construction when it was created. */
  readonly madeIn: ProgramBuilder;
}

/** A language-level iteration in progress: the content of an iterator register. */
export interface IteratorRecordVariable {
  readonly kind: 'iteratorRecord';
  /** A user-defined iterator has a `next` method. */
  readonly iterator: Variable;
  readonly next: Variable | null;
  /** True for `for … of` over an array itself, whose iterator user code can't reach. */
  readonly direct: boolean;
  /** The object of a `for … in` loop. Names deleted during the loop are not visited. */
  readonly namesOf?: Variable;
  /** The enumerable names of the prototypes of `namesOf`. */
  readonly inherited?: ReadonlySet<string>;
  /** The tensor of a `for … of` over its entries, which are selected when they are reached. */
  readonly rowsOf?: TensorVariable;
  done: boolean;
}

/** A generator created in the trace, with its suspended frame. */
export interface GeneratorVariable {
  readonly kind: 'generator';
  readonly frame: TraceFrame;
  state: 'start' | 'yield' | 'running' | 'done';
  /** The program under construction when it was created. */
  readonly madeIn: ProgramBuilder;
  /** For the result of `iterator.map(f)` and similar methods: the call that created it. */
  readonly helper?: CallSite;
}
