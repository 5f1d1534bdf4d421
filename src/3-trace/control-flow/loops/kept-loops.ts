import { keptBecause } from '../../../traces/kept-loops.ts';
import { type Loop, structureOf } from '../../../vm/bytecode/structure.ts';
import { isPolyfill } from '../../builtins/polyfills/codes.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';

/** `keepLoop()`: restarts the trace and makes the loop around the call a loop of the program. */
export function requestLoop(t: Tracer): void {
  if (t.control.policy === 'functions') return;
  for (let depth = t.frames.length - 1; depth >= 0; depth--) {
    const frame = t.frames[depth]!;
    const { code } = frame.closure;
    const loop = innermostLoop(frame, depth < t.frames.length - 1);
    if (loop) {
      const { plans } = t.control;
      if (t.control.isActive(frame, loop) || plans.of(code, loop) !== undefined) return;
      plans.keep(code, loop, keptBecause.requested);
    }
    // For a callback, the loop is in the method that calls it.
    if (depth > 0 && !isPolyfill(t.frames[depth - 1]!.closure.code)) return;
  }
}

/** Returns the innermost loop. A caller's pc is already past its call. */
function innermostLoop({ closure: { code }, pc }: TraceFrame, isCaller: boolean): Loop | undefined {
  const at = isCaller ? pc - 1 : pc;
  const around = [...structureOf(code).loops.values()].filter(({ body }) => body.has(at));
  return around.sort((a, b) => a.body.size - b.body.size)[0];
}
