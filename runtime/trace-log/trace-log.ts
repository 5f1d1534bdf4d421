import { ArgumentError } from '../errors/errors.ts';
import { formatEvent } from '../memory/event-log.ts';
import { events, type MemoryEvent } from '../memory/events.ts';
import { expectFunction } from '../options/expect-arguments.ts';
import { expectOptions } from '../options/expect-options.ts';
import { that } from '../options/option-kinds.ts';
import { type TraceModule, traceStream } from './stream.ts';

const traceModules: readonly TraceModule[] = ['op', 'transform', 'copy', 'scope', 'memory'];

export interface TraceLogOptions {
  /** The modules to log; all by default. */
  readonly modules?: readonly TraceModule[];
}

/**
 * Passes a line for each tensor event to `write`, until the returned function is called:
 *
 * - `op`: each issued op, with its device, operands and results, as `name:dtype[shape]`;
 * - `transform`: a tensor passed to a kernel in another layout or on another device;
 * - `copy`: each copy between devices and JavaScript, in bytes;
 * - `scope`: each program value that leaves its scope after its last use;
 * - `memory`: allocations and releases, in the lines that `tostatic memory` reads.
 *
 * Marks (`memory.mark`, `START SOT_CALL_n`) are always included. `TOSTATIC_TRACE=op,copy` (or `all`) logs to
 * standard error from process start. The lines follow Paddle's verbose executor log. Throws ArgumentError for an
 * unknown module.
 */
export function traceLog(write: (line: string) => void, options: TraceLogOptions = {}): () => void {
  expectFunction('traceLog', write);
  expectOptions('traceLog', options, { modules: that('an array of modules', Array.isArray) });
  const modules = new Set(options.modules ?? traceModules);
  for (const module of modules) if (!traceModules.includes(module)) throw unknownModule(module);
  const stopMemory = events.subscribe((event) => {
    const module = moduleOf(event);
    const line = module === null || modules.has(module) ? formatEvent(event) : null;
    if (line !== null && event.kind !== 'kernel') write(line);
  });
  const listens = modules.has('op') || modules.has('transform') || modules.has('scope');
  const stopTrace = listens
    ? traceStream.subscribe((module, line) => {
        if (modules.has(module)) write(line);
      })
    : () => {};
  return () => {
    stopMemory();
    stopTrace();
  };
}

/** Returns an event's module; null if it belongs to every log. */
function moduleOf({ kind }: MemoryEvent): TraceModule | null {
  if (kind === 'mark') return null;
  return kind === 'copy' ? 'copy' : 'memory';
}

function unknownModule(module: string): ArgumentError {
  return new ArgumentError({
    what: 'traceLog: no such module',
    given: `'${module}'`,
    expected: traceModules.map((name) => `'${name}'`).join(', '),
    remedy: 'leave modules out (or TOSTATIC_TRACE=all) for all of them',
  });
}
