/** Exceptions within the trace, from the throw to the handler that catches them. */

import { mayRefuse } from '../../../runtime/program/checks.ts';
import { type BreakReason, GraphBreak } from '../../traces/graph-break.ts';
import { catches } from '../../vm/bytecode/catches.ts';
import { endFrom } from '../../vm/bytecode/ends-in-throw.ts';
import type { Pc } from '../../vm/bytecode/instructions.ts';
import { openIterators } from '../../vm/bytecode/open-iterators.ts';
import { type ProtectedRegion, protectionAt } from '../../vm/bytecode/protection.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import {
  known,
  type NewObjectVariable,
  type ObjectVariable,
  type Variable,
} from '../variables/variable.ts';
import { isFrameworkFile } from './framework-files.ts';
import { framesOf } from './position.ts';
import type { Tracer } from './tracer.ts';

/** Error types whose instances the trace creates; each run creates its own error. */
export const errorTypes: ReadonlySet<unknown> = new Set<unknown>([
  Error,
  TypeError,
  RangeError,
  ReferenceError,
  SyntaxError,
  URIError,
  EvalError,
  AggregateError,
]);

/** Ends the graph where code would see whether an error has its own `stack`: that depends on the engine. */
export function expectNoStack({ errorType, entries }: NewObjectVariable, key: string): void {
  if (errorType === undefined || key !== 'stack' || entries.has(key)) return;
  throw new GraphBreak('unsupported-value', 'the stack of an error, which the engine writes');
}

/** Returns whether a property of an error was set by its constructor, so that it is not enumerable. */
export const isHiddenOfError = (
  { errorType, hasCause }: NewObjectVariable,
  key: string | symbol,
): boolean =>
  errorType !== undefined &&
  (key === 'message' ||
    (key === 'cause' && hasCause === true) ||
    (key === 'errors' && isAggregate(errorType)));

export const isAggregate = (type: unknown): boolean => type === AggregateError;

/**
 * Thrown by a builtin for an exception of the language: the trace continues at the user's handler. Never escapes
 * the instruction that called the builtin.
 */
export class Raised extends Error {
  override readonly name = 'Raised';
  readonly thrown: Variable;
  /** True if earlier effects of the instruction persist; otherwise they are rolled back. */
  readonly keepsEffects: boolean;

  constructor(thrown: Variable, message: string, keepsEffects = false) {
    super(message);
    this.thrown = thrown;
    this.keepsEffects = keepsEffects;
  }

  keeping(): Raised {
    return new Raised(this.thrown, this.message, true);
  }
}

/** Converts an error that JavaScript threw for known operands into an exception of the trace. */
export function raised(t: Tracer, error: unknown): Raised | GraphBreak {
  if (!(error instanceof Error) || !errorTypes.has(error.constructor)) {
    return new GraphBreak('throw', String(error));
  }
  const thrown = makeError(t, error.constructor as ErrorConstructor, error.message);
  return new Raised(thrown, error.message);
}

/** Runs JavaScript code on known operands. An error that it throws becomes an exception of the trace. */
export function orRaise<T>(t: Tracer, body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw raised(t, error);
  }
}

/** Returns a `TypeError` with this message as an exception of the trace. */
export function typeError(t: Tracer, message: string): Raised {
  return new Raised(makeError(t, TypeError, message), message);
}

export function makeError(
  t: Tracer,
  type: ErrorConstructor,
  message: Variable | string | undefined,
): NewObjectVariable {
  const entries = new Map<string, Variable>();
  if (message !== undefined) {
    entries.set('message', typeof message === 'string' ? known(message) : message);
  }
  const value = type.prototype as object;
  const source = { kind: 'held', value, name: `${type.name}.prototype` } as const;
  const prototype = t.read(source, value) as ObjectVariable;
  return {
    kind: 'newObject',
    entries,
    prototype,
    errorType: type,
    thrownIn: framesOf(t.frames),
    madeIn: t.builder,
  };
}

/** Returns the handler for an exception at this pc of the frame; undefined if the exception leaves the frame. */
export function handlerAt(frame: TraceFrame, pc: Pc): ProtectedRegion | undefined {
  const region = protectionAt(frame.closure.code, pc);
  if (closesForeignIterator(frame, pc, region)) {
    throw new GraphBreak('throw', 'an exception closes an iterator');
  }
  return region;
}

/** Continues at the innermost handler; changes nothing if there is none. */
export function goToHandler(t: Tracer, error: Variable): Pc {
  for (let depth = t.frames.length - 1; depth >= t.floor; depth--) {
    const frame = t.frames[depth]!;
    // A caller's pc is already past its call.
    const pc = frame === t.top ? frame.pc : frame.pc - 1;
    const region = protectionAt(frame.closure.code, pc);
    if (closesForeignIterator(frame, pc, region)) break;
    if (!region) continue;
    expectInPath(t, depth);
    t.frames.length = depth + 1;
    frame.registers[region.error] = error;
    frame.pc = region.target;
    return region.target;
  }
  throw new GraphBreak('throw', 'an exception is thrown');
}

/** A path ends in the frame in which it began, or at its return: a caller's handler is beyond both. */
function expectInPath({ control, frames }: Tracer, depth: number): void {
  const path = control.innermost;
  if (!path || frames.indexOf(path.frame) <= depth) return;
  const what = 'an exception leaves a branch or loop, and a caller catches it';
  throw Object.assign(new GraphBreak('throw', what), { passesMerge: true });
}

/** Returns whether a frame catches an exception at its current instruction, or in its call. */
export function isProtected({ frames }: Tracer): boolean {
  return frames.some(({ closure, pc }, depth) => {
    // A caller's pc is already past its call.
    const at = depth === frames.length - 1 ? pc : pc - 1;
    return protectionAt(closure.code, at as Pc) !== undefined;
  });
}

/** Reasons that an exception doesn't replace: the user's request, and ends not caused by code. */
const keptBeforeThrow: ReadonlySet<BreakReason> = new Set<BreakReason>([
  'forced',
  'throw',
  'await',
  'yield',
  'trace-length',
  'call-depth',
]);

/**
 * Called for a graph break. If an exception leaves the captured function in any case, as in
 * `throw new MyError(format(x))`, the graph ends with that exception: nothing after the break needs a graph.
 */
export function orThrow(t: Tracer, error: GraphBreak): GraphBreak {
  const { reason, detail, cause } = error;
  if (keptBeforeThrow.has(reason) || cause !== undefined || !throwsInAnyCase(t)) return error;
  const thrown = new GraphBreak('throw', `${detail}, before an exception is thrown`);
  thrown.at = error.at;
  return thrown;
}

function throwsInAnyCase(t: Tracer): boolean {
  if (isProtected(t)) return false;
  for (const { closure, pc } of [...t.frames].reverse()) {
    const end = endFrom(closure.code, pc);
    if (end !== 'returns') return end === 'throws';
  }
  return false;
}

/** Built-in iterators have no `return` method; closing any other iterator runs user code. */
function closesForeignIterator(
  frame: TraceFrame,
  pc: Pc,
  region: ProtectedRegion | undefined,
): boolean {
  const outside = region?.error ?? -1;
  return [...openIterators(frame.closure.code)[pc]!].some((register) => {
    const variable = frame.registers[register];
    if (register <= outside || variable === undefined) return false;
    return variable.kind !== 'iteratorRecord' || variable.iterator.kind !== 'iterator';
  });
}

/**
 * Whether a kernel of an op since then may reject its values where user code catches the error: a rejected run may take
 * another path.
 */
export function mayCatchRejection({ builder, frames, top }: Tracer, since: number): boolean {
  if (!builder.some(mayRefuse, since)) return false;
  return frames.some((frame) => {
    const { code } = frame.closure;
    // A caller's pc is already past its call.
    const pc = frame === top ? frame.pc : frame.pc - 1;
    return !isFrameworkFile(code.source.file) && catches(code, pc);
  });
}
