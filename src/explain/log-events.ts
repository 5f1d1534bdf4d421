/** The log messages of a captured function, by level. */

import { formatPosition, type UserPosition } from '../../runtime/errors/position.ts';
import { printProgram } from '../../runtime/program/print.ts';
import { printGuard } from '../guards/print-guard.ts';
import type { CompiledPart } from '../programs/compiled-part.ts';
import type { Outcome } from '../traces/trace-result.ts';
import type { Code } from '../vm/bytecode/code.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import type { Pc } from '../vm/bytecode/instructions.ts';
import { printInstruction } from '../vm/bytecode/print.ts';
import { isLogged, log } from './log.ts';

const nameOf = (name: string) => name || 'function';
const suffix = (at: UserPosition | undefined) => (at ? ` (${formatPosition(at)})` : '');

/** Level `graphs`: what was compiled; `programs`: the program itself. */
export function logPart(
  name: string,
  { trace, stages, tooSmall }: CompiledPart,
  index: number,
): void {
  const names = { codes: trace.codes, pcs: trace.pcs };
  log('graphs', () => {
    if (!stages) return `${nameOf(name)}: part ${index} has no tensor op`;
    const { peakBytes } = stages.planned.forward.predicted;
    const end = trace.outcome.kind === 'return' ? 'to the return' : 'to a break';
    const size = tooSmall
      ? ', smaller than minGraphSize: runs eagerly'
      : `, peak ${peakBytes} bytes`;
    return `${nameOf(name)}: graph ${index} with ${stages.forward.ops.length} ops ${end}${size}`;
  });
  log('cache', () => {
    const guards = trace.guards.map((guard) => `  ${printGuard(guard, names)}`);
    return `${nameOf(name)}: guards of part ${index}\n${guards.join('\n')}`;
  });
  if (stages) {
    log(
      'programs',
      () => `${nameOf(name)}: program of graph ${index}\n${printProgram(stages.traced)}`,
    );
  }
}

/** Entries with guards. */
interface Guarded {
  /** For each entry, the first guard that fails for these frames. */
  misses(frames: readonly Frame[]): readonly string[];
}

/** Level `cache`: the first failing guard of each entry. */
export function logMiss(name: string, point: Guarded, frames: readonly Frame[]): void {
  if (!isLogged('cache')) return;
  for (const text of point.misses(frames)) log('cache', () => `${nameOf(name)}: miss: ${text}`);
}

/** Level `trace`. */
export function logBreak(name: string, outcome: Outcome): void {
  if (outcome.kind === 'return') return;
  const { reason, detail, at } = outcome.record;
  log('trace', () => `${nameOf(name)}: break: ${detail} [${reason}]${suffix(at)}`);
}

/** Level `trace`: a listener for each traced instruction; undefined if the level is off. */
export function instructionLog(): ((code: Code, pc: Pc) => void) | undefined {
  if (!isLogged('trace')) return undefined;
  return (code, pc) => {
    const text = printInstruction(code.instructions[pc]!);
    log('trace', () => `${nameOf(code.name)}: ${String(pc).padStart(3)}  ${text}`);
  };
}

/** Level `graphs`. */
export function logFallback(name: string, why: string, at: UserPosition | undefined): void {
  log('graphs', () => `${nameOf(name)}: runs as ordinary JavaScript: ${why}${suffix(at)}`);
}
