import type { AnyFunction, CapturedFunction } from '../script/captured-function.ts';
import type { CaptureRefusal } from '../script/refusal.ts';
import type { DebuggerSession } from './debugger-session.ts';

/** The parts of an engine's inspector that captures use. */
interface Inspector {
  /** Returns undefined if there is no inspector. */
  open(): DebuggerSession | undefined;
  /** `users`: whether published functions of this package are refused. */
  capture(
    session: DebuggerSession,
    fn: AnyFunction,
    users: boolean,
  ): CapturedFunction | CaptureRefusal;
  /** Returns what one `bind` was called with; undefined for other functions. */
  bound(session: DebuggerSession, fn: AnyFunction): BoundTarget | undefined;
}

export interface BoundTarget {
  readonly target: AnyFunction;
  readonly thisValue: unknown;
  readonly args: readonly unknown[];
}

let inspector: Inspector | undefined;

/** Called where there may be an inspector; pages leave its code out (`../inspector.ts`). */
export const provideInspector = (provided: Inspector): void => {
  inspector = provided;
};

/**
 * How long an idle session stays open, as a multiple of the time that enabling its debugger took. Enabling it
 * again costs that time, so successive captures share a session. While a debugger is enabled, however, the engine
 * runs WebAssembly in baseline code, which makes kernels two to three times slower. A session therefore outlasts
 * captures by one enabling at most.
 */
const worthKeeping = 1;

// Saved at the start, since users replace timers in tests.
const { setTimeout, performance } = globalThis;

let depth = 0;
let current: DebuggerSession | undefined;
/** The time at which the open session became idle; undefined during a capture and without a session. */
export let sessionIdleSince: number | undefined;
/** Whether a timer or microtask will end the session. */
let isScheduled = false;

/**
 * Shares one session between all captures inside `run`, which must be synchronous. The session is opened on first
 * use. A function is traced piece by piece, with captures of other functions in between: the session stays open
 * but idle, invisible to user code, until the pending microtasks run, or longer if its debugger was enabled.
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

/** The timer must not keep the process alive. */
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

/** Ends the session if it is idle. */
export function endCaptureSession(): void {
  if (sessionIdleSince === undefined) return;
  const open = current;
  current = undefined;
  sessionIdleSince = undefined;
  open?.close();
}

/**
 * Called by calls that capture nothing: in code that never returns to the event loop, no timer could end the
 * session.
 */
export function endLongCaptureSession(): void {
  if (sessionIdleSince === undefined || performance.now() - sessionIdleSince < longestIdle())
    return;
  endCaptureSession();
}

/** Returns the session of the surrounding `withCaptureSession`; undefined if there is no inspector. */
export function currentSession(): DebuggerSession | undefined {
  if (depth === 0) throw new Error('invariant: currentSession outside withCaptureSession');
  if (current) current.wake();
  else current = inspector?.open();
  return current;
}

/** Captures a function through the inspector; returns undefined if there is none. */
export function captureInSession(
  fn: AnyFunction,
  users: boolean,
): CapturedFunction | CaptureRefusal | undefined {
  return inspect((session, { capture }) => capture(session, fn, users));
}

/** Returns what one `bind` was called with; undefined for other functions, and without an inspector. */
export function boundInSession(fn: AnyFunction): BoundTarget | undefined {
  return inspect((session, { bound }) => bound(session, fn));
}

function inspect<T>(ask: (session: DebuggerSession, inspector: Inspector) => T): T | undefined {
  if (!inspector) return undefined;
  const provided = inspector;
  return withCaptureSession(() => {
    const session = currentSession();
    if (!session) return undefined;
    try {
      return ask(session, provided);
    } finally {
      session.release();
    }
  });
}
