import { DebuggerSession } from './debugger-session.ts';

let depth = 0;
let current: DebuggerSession | undefined;
/** When the last capture ended, where the session rests for others of the same turn; milliseconds. */
let resting: number | undefined;

/** A turn that lasts longer ends the session at its next call that captures nothing. */
const longestRest = 50;

/**
 * Keeps one session for all captures inside `run` (which must be synchronous: the debugger, where one of
 * them needs it, costs milliseconds and slows other code down while it lasts). It opens at the first need. A
 * function is traced piece by piece, and others are captured beside it: the session rests till the
 * turn ends, with nothing to be seen of it.
 */
export function withCaptureSession<T>(run: () => T): T {
  depth++;
  resting = undefined;
  try {
    return run();
  } finally {
    depth--;
    if (depth === 0 && current) {
      current.rest();
      resting = performance.now();
      queueMicrotask(() => endCaptureSession());
    }
  }
}

/** Ends the session, if it rests. `after`: and has done so for that many milliseconds. */
export function endCaptureSession(after = 0): void {
  if (resting === undefined || performance.now() - resting < after) return;
  const open = current;
  current = undefined;
  resting = undefined;
  open?.close();
}

/** For calls that capture nothing: a turn that goes on for long with them has captured what it needs. */
export function endLongCaptureSession(): void {
  if (resting !== undefined) endCaptureSession(longestRest);
}

/** The session of the surrounding `withCaptureSession`; undefined where there is no inspector. */
export function currentSession(): DebuggerSession | undefined {
  if (depth === 0) throw new Error('invariant: currentSession outside withCaptureSession');
  if (current) current.wake();
  else current = DebuggerSession.open();
  return current;
}
