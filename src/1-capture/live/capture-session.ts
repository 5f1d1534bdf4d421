import { DebuggerSession } from './debugger-session.ts';

/**
 * An idle session stays open for this many times the time that enabling its debugger took. Enabling again costs that
 * time, so captures that keep coming share a session. But while a debugger is enabled the engine runs WebAssembly
 * in baseline code: kernels take two to three times as long. So no session outlasts the captures by more than one enabling.
 */
const worthKeeping = 1;

// As they are at the start: users replace timers in tests.
const { setTimeout, performance } = globalThis;

let depth = 0;
let current: DebuggerSession | undefined;
/** The time at which the open session became idle; undefined while it captures, and without a session. */
export let sessionIdleSince: number | undefined;
/** Whether a timer, or the end of this iteration of the event loop, will end the session. */
let isScheduled = false;

/**
 * Keeps one session for all captures inside `run` (which must be synchronous). It opens at the first need. A function
 * is traced piece by piece, and others are captured beside it: the session stays open but idle, invisible to user code,
 * until the pending microtasks run, or longer if its debugger was enabled.
 */
export function withCaptureSession<T>(run: () => T): T {
  depth++;
  sessionIdleSince = undefined;
  try {
    return run();
  } finally {
    depth--;
    if (depth === 0 && current) {
      current.rest();
      sessionIdleSince = performance.now();
      if (!isScheduled) scheduleEnd(longestIdle());
    }
  }
}

const longestIdle = (): number => worthKeeping * (current?.msToDebug ?? 0);

/** A pending timer keeps no process alive. */
function scheduleEnd(ms: number): void {
  isScheduled = true;
  if (ms > 0) setTimeout(endIfIdle, ms).unref();
  else queueMicrotask(endIfIdle);
}

function endIfIdle(): void {
  isScheduled = false;
  if (sessionIdleSince === undefined) return;
  const left = sessionIdleSince + longestIdle() - performance.now();
  if (left > 0) scheduleEnd(Math.ceil(left));
  else endCaptureSession();
}

/** Ends the session, if it is idle. */
export function endCaptureSession(): void {
  if (sessionIdleSince === undefined) return;
  const open = current;
  current = undefined;
  sessionIdleSince = undefined;
  open?.close();
}

/** For calls that capture nothing: in code that never returns to the event loop, no timer ends the session. */
export function endLongCaptureSession(): void {
  if (sessionIdleSince === undefined || performance.now() - sessionIdleSince < longestIdle())
    return;
  endCaptureSession();
}

/** The session of the surrounding `withCaptureSession`; undefined where there is no inspector. */
export function currentSession(): DebuggerSession | undefined {
  if (depth === 0) throw new Error('invariant: currentSession outside withCaptureSession');
  if (current) current.wake();
  else current = DebuggerSession.open();
  return current;
}
