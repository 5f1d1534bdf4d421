import { CaptureError } from '../../runtime/errors/errors.ts';
import { formatPosition, type UserPosition } from '../../runtime/errors/position.ts';
import { isFrameworkFile } from '../3-trace/framework-files.ts';
import type { Code } from '../bytecode/code.ts';
import {
  type BreakRecord,
  breakReasons,
  expectedInstead,
  hintForOneProgram,
} from '../traces/graph-break.ts';
import type { FrameRecipe, TraceResult } from '../traces/trace-result.ts';

/** Lines shown before and after the one that is meant. */
const around = 2;

/** The function is to be one program, and can't be. */
export class FullGraphError extends CaptureError {
  override readonly name = 'FullGraphError';
  /** Why, as a record of the registry. */
  readonly record: BreakRecord;
  /** The user's calls that were under way, the innermost first. */
  readonly frames: readonly UserPosition[];

  constructor(name: string, record: BreakRecord, result: TraceResult) {
    const { explanation } = breakReasons[record.reason];
    const { frames, window } = whereabouts(record, result);
    super({
      what: `${name} is not one program: ${inSentence(explanation)}`,
      given: [record.detail, ...window].join('\n'),
      expected: expectedInstead(record.reason),
      remedy: hintForOneProgram(record.reason),
      at: record.at,
    });
    this.record = record;
    this.frames = frames;
  }
}

/** A sentence as the end of another one, whose full stop it leaves away. */
function inSentence(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1, -1);
}

/**
 * Throws what keeps a function that is to be one program from it. An error that eager execution would
 * throw keeps its type, and its message gets the user's lines. A function that does nothing but throw
 * here is left to throw its own error.
 */
export function expectOneProgram(name: string, result: TraceResult): void {
  const { outcome } = result;
  if (outcome.kind !== 'break' || outcome.record.reason === 'throw') return;
  const { record, cause } = outcome;
  if (!(cause instanceof Error)) throw new FullGraphError(name, record, result);
  const { window } = whereabouts(record, result);
  cause.message = [cause.message, ...window].join('\n');
  throw cause;
}

function whereabouts(
  { at }: BreakRecord,
  { outcome, codes }: TraceResult,
): { readonly frames: readonly UserPosition[]; readonly window: readonly string[] } {
  if (outcome.kind !== 'break') return { frames: [], window: [] };
  const calls = [...outcome.frames].reverse();
  const frames = calls.flatMap((frame, depth) => {
    const code = codeOf(frame, codes);
    // A caller's pc is already past its call.
    const span = code.spans[depth === 0 ? frame.pc : frame.pc - 1];
    // Calls inside tostatic itself say nothing to the user.
    if (!span || isFrameworkFile(code.source.file)) return [];
    return [code.source.position(span.start)];
  });
  const sources = calls.map((frame) => codeOf(frame, codes).source);
  const line = (number: number) => {
    for (const source of sources) {
      const text = at && source.line(at.file, number);
      if (text !== undefined) return text;
    }
    return undefined;
  };
  return { frames, window: at ? windowAround(at, line, frames) : [] };
}

function codeOf({ call }: FrameRecipe, codes: readonly Code[]): Code {
  return call.kind === 'entry' ? codes[call.frame]! : call.closure.code;
}

function windowAround(
  at: UserPosition,
  line: (number: number) => string | undefined,
  frames: readonly UserPosition[],
): string[] {
  const numbers = Array.from({ length: 2 * around + 1 }, (_, i) => at.line - around + i);
  const width = String(at.line + around).length;
  const shown = numbers.flatMap((number) => {
    const text = number > 0 ? line(number) : undefined;
    if (text === undefined) return [];
    const mark = number === at.line ? '  <--- HERE' : '';
    return [`    ${String(number).padStart(width)} | ${text}${mark}`];
  });
  return [...shown, ...frames.slice(1).map((frame) => `    called from ${formatPosition(frame)}`)];
}
