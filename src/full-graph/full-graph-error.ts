import { CaptureError } from '../../runtime/errors/errors.ts';
import { foldStack } from '../../runtime/errors/folded-stack.ts';
import { formatPosition, type UserPosition } from '../../runtime/errors/position.ts';
import { isFrameworkFile } from '../3-trace/state/framework-files.ts';
import {
  type BreakRecord,
  breakReasons,
  expectedInstead,
  hintForOneProgram,
} from '../traces/graph-break.ts';
import type { FrameRecipe, TraceResult } from '../traces/trace-result.ts';
import type { Code } from '../vm/bytecode/code.ts';
import type { Pc } from '../vm/bytecode/instructions.ts';
import { protectionAt } from '../vm/bytecode/protection.ts';
import { windowAround } from './source-window.ts';

/** The function has to be one program, but can't be. */
export class FullGraphError extends CaptureError {
  override readonly name = 'FullGraphError';
  /** The reason, as a record of the registry. */
  readonly record: BreakRecord;
  /** The user's active calls, innermost first. */
  readonly frames: readonly UserPosition[];

  constructor(name: string, record: BreakRecord, result: TraceResult) {
    const { explanation } = breakReasons[record.reason];
    const { frames, window } = breakLocation(record, result);
    super({
      what: `${name} is not one program: ${inSentence(explanation)}`,
      given: [record.detail, ...window].join('\n'),
      expected: expectedInstead(record.reason),
      remedy: hintForOneProgram(record.reason),
      at: record.at,
    });
    this.record = record;
    this.frames = frames;
    foldStack(this, frames, `${this.name}: ${this.message}`);
  }
}

/** Returns the sentence as the end of another one: without its full stop, and in lower case, except for a name. */
function inSentence(text: string): string {
  const start = text.startsWith('JavaScript') ? 'J' : text.charAt(0).toLowerCase();
  return start + text.slice(1, -1);
}

/**
 * Throws if something prevents a function that has to be one program from being one. An error that eager execution
 * would throw to the caller keeps its type, and the user's lines are added to its message. If the function has an
 * effect before it or may catch it, eager execution throws the error instead. The same applies to the error of a
 * function that only throws here.
 */
export function expectOneProgram(name: string, result: TraceResult): void {
  const { outcome } = result;
  if (outcome.kind !== 'break' || outcome.record.reason === 'throw') return;
  const { record, cause, afterEffects } = outcome;
  if (!(cause instanceof Error)) {
    throw withLongStack(() => new FullGraphError(name, record, result));
  }
  // Earlier effects happen first, and a user's `catch` or `finally` continues from there.
  if (afterEffects || mayBeCaught(result)) return;
  const { frames, window } = breakLocation(record, result);
  cause.message = [cause.message, ...window].join('\n');
  foldStack(cause, frames, `${cause.name}: ${cause.message}`);
  throw cause;
}

/**
 * Whether eager execution would continue at a user's `catch` or `finally`, which programs don't have for an op's error.
 */
function mayBeCaught({ outcome, codes }: TraceResult): boolean {
  if (outcome.kind !== 'break') return false;
  return outcome.frames.some((frame, depth) => {
    const isTop = depth === outcome.frames.length - 1;
    // A caller's pc is already past its call.
    const pc = isTop ? frame.pc : frame.pc - 1;
    return protectionAt(codeOf(frame, codes), pc as Pc) !== undefined;
  });
}

/** The user's callers are below the frames of tostatic. */
function withLongStack<T>(make: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 50;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function breakLocation(
  { at }: BreakRecord,
  { outcome, codes, sources }: TraceResult,
): { readonly frames: readonly UserPosition[]; readonly window: readonly string[] } {
  if (outcome.kind !== 'break') return { frames: [], window: [] };
  const calls = [...outcome.frames].reverse();
  const frames = calls.flatMap((frame, depth) => {
    const code = codeOf(frame, codes);
    // A caller's pc is already past its call.
    const span = code.spans[depth === 0 ? frame.pc : frame.pc - 1];
    // Calls inside tostatic itself are meaningless to the user.
    if (!span || isFrameworkFile(code.source.file)) return [];
    return [code.source.position(span.start)];
  });
  const callers = frames.slice(1).map((frame) => `    called from ${formatPosition(frame)}`);
  return { frames, window: at ? [...windowAround(at, sources), ...callers] : [] };
}

function codeOf({ call }: FrameRecipe, codes: readonly Code[]): Code {
  return call.kind === 'entry' ? codes[call.frame]! : call.closure.code;
}
