import { getOrInsert } from '../../runtime/collections/get-or-insert.ts';
import type { Code } from '../vm/bytecode/code.ts';
import { captureGiven, capturePrinted, isNativeText } from './live/capture-printed.ts';
import { type BoundTarget, boundInSession, captureInSession } from './live/capture-session.ts';
import { captureMarked } from './marked/capture-marked.ts';
import { readMarker } from './marked/read-marker.ts';
import { builtinModule } from './script/builtin-module.ts';
import type { AnyFunction, CapturedFunction } from './script/captured-function.ts';
import { isImplicit } from './script/implicit-constructor.ts';
import { implicitFile, runnerFile, runtimeFile } from './script/own-files.ts';
import { type CaptureRefusal, isRefusal, refuse } from './script/refusal.ts';
import type { CaptureOptions } from './script/route.ts';

export {
  endCaptureSession,
  endLongCaptureSession,
  sessionIdleSince,
  withCaptureSession,
} from './live/capture-session.ts';
export { findHomeObject } from './live/home-object.ts';
export type {
  AnyFunction,
  CapturedFunction,
  ClassNode,
  FunctionNode,
} from './script/captured-function.ts';
export {
  type CaptureRefusal,
  type CaptureRefusalReason,
  captureRefusals,
  isRefusal,
  printRefusal,
} from './script/refusal.ts';

// Refusals are cached as well: each call requests the capture again.
const captures = new WeakMap<AnyFunction, CapturedFunction | CaptureRefusal>();

/**
 * In: any function. Out: its node in the parsed script, and live access to its outer variables; or a refusal with
 * a reason. The routes, in this order: the `scope` option, the build plugin's marker, the inspector, and the
 * printed text if it uses only globals. Guarantees: no user code runs; the result is cached per function and
 * doesn't keep the function alive. With `scope`, nothing is cached, since the object may differ.
 */
export function captureFunction(
  fn: AnyFunction,
  options: CaptureOptions = {},
): CapturedFunction | CaptureRefusal {
  if (options.scope) return captureWith(fn, options.scope);
  return getOrInsert(captures, fn, () => captureNew(fn, false));
}

/**
 * Captures a function that captured code calls. Unlike `captureFunction`, it refuses published functions of this
 * package that aren't instrumented, whose scripts are large: such calls aren't traced.
 */
export function captureCalled(fn: AnyFunction): CapturedFunction | CaptureRefusal {
  const known = captures.get(fn);
  if (known) return known;
  const captured = captureNew(fn, true);
  if (!isRefusal(captured) || captured.reason !== 'opaque') captures.set(fn, captured);
  return captured;
}

/**
 * Captures a class that captured code constructs. The build can't instrument an implicit constructor of this package, as
 * most modules have: if its fields read no outer variables, its printed text is enough.
 */
export function captureConstructed(type: AnyFunction): CapturedFunction | CaptureRefusal {
  const captured = captureCalled(type);
  const isOpaque = isRefusal(captured)
    ? captured.reason === 'opaque'
    : captured.source.file === runtimeFile;
  if (!isOpaque) return captured;
  const printed = capturePrinted(type, undefined);
  const isEnough =
    !isRefusal(printed) &&
    printed.kind === 'constructor' &&
    isImplicit(printed.syntax().classNode!);
  return isEnough ? withFile(printed, implicitFile) : captured;
}

/**
 * Captures a function of this package that uses only its arguments and built-in globals, from its printed text.
 * The other routes would parse the whole file that it was bundled into, which takes longer than many first calls.
 */
export function captureOwnAlone(fn: AnyFunction): CapturedFunction | CaptureRefusal {
  const captured = capturePrinted(fn, undefined);
  // TypeScript loaders may insert names of their own.
  return isRefusal(captured) ? captureFunction(fn) : withFile(captured, runnerFile);
}

/** Names the file of a function of this package that was captured from its printed text. */
function withFile(captured: CapturedFunction, file: string): CapturedFunction {
  const { text, position } = captured.source;
  const placeOf = (offset: number) => ({ ...position(offset), file });
  return { ...captured, source: { file, text, position: placeOf, line: () => undefined } };
}

const bound = new WeakMap<AnyFunction, BoundTarget | null>();

/**
 * Returns what a bound function was created from, one `bind` at a time; undefined for other functions, and without an
 * inspector.
 */
export function boundFrom(fn: AnyFunction): BoundTarget | undefined {
  let found = bound.get(fn);
  if (found === undefined) {
    const isNative = !isProxy(fn) && isNativeText(Function.prototype.toString.call(fn));
    found = (isNative && boundInSession(fn)) || null;
    bound.set(fn, found);
  }
  return found ?? undefined;
}

function captureWith(
  fn: AnyFunction,
  scope: Readonly<Record<string, unknown>>,
): CapturedFunction | CaptureRefusal {
  if (isProxy(fn)) return refuse('proxy', 'The function is a Proxy.');
  const marked = readMarker(fn);
  if (!marked) return capturePrinted(fn, scope);
  // Code stored with the module reaches private names through its scope.
  const stored = marked.privateNames.size === 0 ? marked.code : undefined;
  const code = stored && ((lower: () => Code) => stored(fn.name, lower));
  return captureGiven(fn, { ...marked, code }, marked.source, scope);
}

function captureNew(fn: AnyFunction, users: boolean): CapturedFunction | CaptureRefusal {
  if (isProxy(fn)) return refuse('proxy', 'The function is a Proxy.');
  const marked = readMarker(fn);
  if (marked) return captureMarked(fn, marked);
  return captureInSession(fn, users) ?? capturePrinted(fn, undefined);
}

const isProxy = (fn: AnyFunction): boolean =>
  builtinModule('node:util')?.types.isProxy(fn) ?? false;
