/** Captures through V8's inspector, for engines that may have one. */

import { captureFunction } from './capture.ts';
import { boundTarget, captureLive } from './live/capture-live.ts';
import { isNativeText } from './live/capture-printed.ts';
import { provideInspector } from './live/capture-session.ts';
import { DebuggerSession } from './live/debugger-session.ts';
import type { AnyFunction, CapturedFunction } from './script/captured-function.ts';
import { type CaptureRefusal, isRefusal, refuse } from './script/refusal.ts';

provideInspector({
  open: () => DebuggerSession.open(),
  capture(session, fn, users) {
    const native = isNativeText(Function.prototype.toString.call(fn));
    return native ? captureBound(session, fn) : captureLive(session, fn, users ? 'users' : 'any');
  },
  bound: boundTarget,
});

function captureBound(
  session: DebuggerSession,
  fn: AnyFunction,
): CapturedFunction | CaptureRefusal {
  const bound = boundTarget(session, fn);
  if (!bound) return refuse('native', `${fn.name || 'The function'} is native code.`);
  const captured = captureFunction(bound.target);
  if (isRefusal(captured)) return captured;
  // f.bind(a, 1).bind(b, 2): the innermost `this` is kept, and arguments are listed from the inside out.
  const thisValue = captured.bound ? captured.bound.thisValue : bound.thisValue;
  const args = [...(captured.bound?.args ?? []), ...bound.args];
  return { ...captured, bound: { thisValue, args } };
}
