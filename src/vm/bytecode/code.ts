import type { Instruction, Span } from './instructions.ts';
import type { ProtectedRegion } from './protection.ts';

/** A position in the file that the user wrote (1-based line and column, after source maps). */
export interface SourcePosition {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The script that contains a function. Spans are offsets in `text`. */
export interface SourceText {
  readonly file: string;
  readonly text: string;
  /** Returns the original position of an offset in `text`, using the script's source map if it has one. */
  position(offset: number): SourcePosition;
  /**
   * Returns the text of a line of the original file (1-based), for code frames; undefined if it is unavailable.
   */
  line(file: string, line: number): string | undefined;
}

/** One function's bytecode. Immutable after lowering. */
export interface Code {
  /** Deterministic within a process: the order of lowering. */
  readonly id: number;
  readonly name: string;
  readonly source: SourceText;
  readonly span: Span;
  /** `constructor` is a class constructor; a derived constructor gets its `this` from `super()`. */
  readonly kind: 'function' | 'arrow' | 'method' | 'constructor' | 'derivedConstructor';
  /** True if it returns a promise and is suspended at each `await`. */
  readonly isAsync: boolean;
  /** True if it returns a generator and is suspended at each `yield`, and at the end of the parameter list. */
  readonly isGenerator: boolean;
  /** `function.length` of the user's function. */
  readonly parameterCount: number;
  readonly strict: boolean;
  readonly registerCount: number;
  /** Names of registers that hold user variables; temporaries have none. */
  readonly registerNames: readonly (string | undefined)[];
  /** Names of the outer cells that the enclosing function must provide (empty for captured functions). */
  readonly outerCells: readonly string[];
  readonly instructions: readonly Instruction[];
  /** Regions whose exceptions are caught, ascending by pc; empty without `try`. */
  readonly regions: readonly ProtectedRegion[];
  /** One span per instruction. */
  readonly spans: readonly Span[];
  /** Functions that `closure` instructions create. */
  readonly inner: readonly Code[];
}
