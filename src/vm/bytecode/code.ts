import type { Instruction, Span } from './instructions.ts';
import type { ProtectedRegion } from './protection.ts';

/** A place in the file that the user wrote (1-based line and column, after source maps). */
export interface SourcePosition {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The script a function was found in. Spans are offsets in `text`. */
export interface SourceText {
  readonly file: string;
  readonly text: string;
  /** The original place of an offset in `text`; follows the script's source map when it has one. */
  position(offset: number): SourcePosition;
  /** The original line's text (1-based), for code frames; undefined when it cannot be had. */
  line(file: string, line: number): string | undefined;
}

/** One function's bytecode. Immutable after lowering. */
export interface Code {
  /** Deterministic within a process run: the order of lowering. */
  readonly id: number;
  readonly name: string;
  readonly source: SourceText;
  readonly span: Span;
  /** A constructor is that of a class; a derived one gets its `this` from `super()`. */
  readonly kind: 'function' | 'arrow' | 'method' | 'constructor' | 'derivedConstructor';
  /** It returns a promise, and stops at each `await`. */
  readonly isAsync: boolean;
  /** It returns a generator, and stops at each `yield`; before that, once its parameters are there. */
  readonly isGenerator: boolean;
  /** `function.length` as the user's function has it. */
  readonly parameterCount: number;
  readonly strict: boolean;
  readonly registerCount: number;
  /** Names of registers that hold user variables; temporaries have none. */
  readonly registerNames: readonly (string | undefined)[];
  /** Names of the outer cells that the enclosing function must hand over (empty for captured functions). */
  readonly outerCells: readonly string[];
  readonly instructions: readonly Instruction[];
  /** Where throws are caught, ascending by pc; empty without `try`. */
  readonly regions: readonly ProtectedRegion[];
  /** One span per instruction. */
  readonly spans: readonly Span[];
  /** Functions that `closure` instructions create. */
  readonly inner: readonly Code[];
}
