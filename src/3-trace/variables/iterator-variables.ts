/** Iterations and generators, as the tracer knows them. */

import type { TraceFrame } from './trace-frame.ts';
import type {
  DeviceScalar,
  NewArrayVariable,
  NewCollectionVariable,
  NewTypedArrayVariable,
  ObjectVariable,
  Variable,
} from './variable.ts';

/** The object that an iterator created in the trace goes through. */
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
  /** Steps taken. The length of an array is read at each step, as in JavaScript. */
  next: number;
  /** The keys of a Map or Set that the iterator has passed, except those that were put in again since. */
  readonly passed: Set<unknown>;
  /** How many of the keys put in it has heard of. */
  heard: number;
  /** The position as a value of the program, for an array of data-dependent length. */
  position?: DeviceScalar | undefined;
  done: boolean;
}

/** An iteration of the language in progress: what an iterator register holds. */
export interface IteratorRecordVariable {
  readonly kind: 'iteratorRecord';
  /** An iterator of the user's has a method `next`. */
  readonly iterator: Variable;
  readonly next: Variable | null;
  /** `for … of` an array itself, whose iterator user code can't reach. */
  readonly direct: boolean;
  /** The object of a `for … in`: names that it loses meanwhile aren't visited. */
  readonly namesOf?: Variable;
  done: boolean;
}

/** A generator created in the trace, with the frame that it continues with. */
export interface GeneratorVariable {
  readonly kind: 'generator';
  readonly frame: TraceFrame;
  state: 'start' | 'yield' | 'running' | 'done';
}
