import type { Closure } from '../../bytecode/frame.ts';
import type { Reg } from '../../bytecode/instructions.ts';
import { calleeText } from '../../bytecode/user-text.ts';
import { usesSuper } from '../../bytecode/uses-super.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { closureOf } from '../../resume/function-of.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { breakGraph, isNotToStatic } from '../../traces/policy.ts';
import { callApi, isDataRead, isTracedApi } from '../api.ts';
import { arrayElements, iterableArray } from '../arrays.ts';
import { callBuiltin } from '../builtins.ts';
import { type CodeOf, isRefused } from '../code-of.ts';
import { callFramework, scopedMode } from '../framework-calls.ts';
import { isFrameworkFile, isInlinedFrameworkFile } from '../framework-files.ts';
import type { TraceFrame, Tracer } from '../tracer.ts';
import {
  type CellReference,
  type ClosureVariable,
  type FunctionVariable,
  isPrimitive,
  known,
  undefinedVariable,
  type Variable,
} from '../variable.ts';
import { get, type Handlers, set } from './handler.ts';

/** One call as it stands before it is made. */
interface Call {
  readonly caller: TraceFrame;
  readonly dst: Reg;
  readonly receiver: Variable;
  readonly args: readonly Variable[];
  /** The gradient mode of the callee; null: the caller's. */
  readonly gradMode: boolean | null;
}

/** Calls: the tensor API is appended, user functions are inlined, everything else runs natively. */
export function callHandlers(
  codeOf: CodeOf,
): Handlers<'call' | 'callSpread' | 'construct' | 'constructSpread'> {
  const receiverOf = (frame: TraceFrame, receiver: Reg | null): Variable =>
    receiver === null ? undefinedVariable : get(frame, receiver);

  const perform = (t: Tracer, callee: Variable, call: Call): number | undefined => {
    if (callee.kind === 'closure') return inlineClosure(t, callee, call);
    if (callee.kind !== 'function') {
      throw new GraphBreak('throw', `${nameAt(call.caller)} is not a function`);
    }
    const made = callee.source && closureOf(callee.value);
    if (made) return inlineMadeClosure(t, callee, made, call);
    guardIdentity(t, callee);
    const gradMode = scopedMode(callee.value);
    const [body] = call.args;
    if (gradMode !== undefined && body) {
      return perform(t, body, { ...call, receiver: undefinedVariable, args: [], gradMode });
    }
    const result = callKnown(t, callee, call);
    if (!result) return inlineFunction(t, callee, call, codeOf);
    set(call.caller, call.dst, result);
    return undefined;
  };

  return {
    call: (t, frame, { dst, callee, receiver, args }) =>
      perform(t, get(frame, callee), {
        caller: frame,
        dst,
        receiver: receiverOf(frame, receiver),
        args: args.map((reg) => get(frame, reg)),
        gradMode: null,
      }),
    callSpread: (t, frame, { dst, callee, receiver, args }) =>
      perform(t, get(frame, callee), {
        caller: frame,
        dst,
        receiver: receiverOf(frame, receiver),
        args: arrayElements(t, iterableArray(t, get(frame, args))),
        gradMode: null,
      }),
    construct: (_t, frame) => refuseConstruct(frame),
    constructSpread: (_t, frame) => refuseConstruct(frame),
  };
}

function refuseConstruct(frame: TraceFrame): never {
  throw new GraphBreak('constructor', `new ${nameAt(frame)}()`);
}

/** What the frame's current instruction calls, in the user's words. */
function nameAt({ closure, pc }: TraceFrame, callee?: FunctionVariable): string {
  return calleeText(closure.code, pc) ?? (callee?.value.name || 'an unnamed function');
}

function guardIdentity(t: Tracer, { source, value }: FunctionVariable): void {
  if (source) t.guard(`identity ${sourceKey(source)}`, { kind: 'identity', source, value });
}

/** Functions that need no source: those of the tensor API, and pure ones of the host. */
function callKnown(t: Tracer, callee: FunctionVariable, call: Call): Variable | undefined {
  const { value } = callee;
  if (value === breakGraph) throw new GraphBreak('forced', 'breakGraph()');
  if (isNotToStatic(value)) {
    throw new GraphBreak('not-to-static', `${nameAt(call.caller, callee)}() is not to be captured`);
  }
  if (isTracedApi(value)) return callApi(t, value, call.receiver, call.args);
  if (isDataRead(value)) {
    throw new GraphBreak('data-read', `${nameAt(call.caller, callee)}() reads values`);
  }
  return (
    callFramework(t, value, call.receiver, call.args) ??
    callBuiltin(t, value, call.receiver, call.args)
  );
}

function inlineFunction(t: Tracer, callee: FunctionVariable, call: Call, codeOf: CodeOf): number {
  const { caller, receiver, args } = call;
  const name = `${nameAt(caller, callee)}()`;
  const found = codeOf(callee.value);
  if (isRefused(found)) {
    if (found.native) throw new GraphBreak('native-call', `${name} is native code`);
    throw new GraphBreak('not-captured', `${name} is not captured: ${found.why}`);
  }
  const { closure, boundThis, boundArgs } = found;
  const { file } = closure.code.source;
  if (isFrameworkFile(file) && !isInlinedFrameworkFile(file)) {
    throw new GraphBreak('framework-call', `${name} is part of tostatic`);
  }
  if (boundThis || boundArgs.length > 0) {
    throw new GraphBreak('unsupported-value', `${name} is a bound function`);
  }
  const { lexicalThis, homeObject } = closure;
  if (!homeObject && usesSuper(closure.code)) {
    throw new GraphBreak('not-captured', `${name} uses super in a class that cannot be found`);
  }
  const thisVariable = lexicalThis
    ? lexicalThisVariable(t, lexicalThis.value)
    : receiverSeenBy(closure, receiver, name);
  // The function is the same one, so its cells are.
  const cells = closure.cells.map((value) =>
    t.read({ kind: 'held', value, name: `a variable of ${name}` }, value),
  ) as CellReference[];
  return enterCall(t, call, { closure, cells, thisVariable, args });
}

/** The `this` of the place where an arrow was made: it can't change. */
function lexicalThisVariable(t: Tracer, value: unknown): Variable {
  if (isPrimitive(value)) return known(value);
  return t.read({ kind: 'held', value, name: 'this' }, value);
}

/** Sloppy code sees an object where the caller gave none. */
function receiverSeenBy(
  { code }: Pick<Closure, 'code'>,
  receiver: Variable,
  name: string,
): Variable {
  if (!code.strict && code.kind !== 'arrow' && receiver.kind === 'constant') {
    throw new GraphBreak('unsupported-value', `${name} is sloppy and is called without an object`);
  }
  return receiver;
}

/** A function that the trace itself made. */
function inlineClosure(t: Tracer, callee: ClosureVariable, call: Call): number {
  const { code, outer, cells } = callee;
  const arrow = code.kind === 'arrow';
  const closure = { code, scope: outer.scope, homeObject: arrow ? outer.homeObject : undefined };
  const thisVariable = arrow
    ? callee.thisVariable
    : receiverSeenBy(closure, call.receiver, `${code.name}()`);
  return enterCall(t, call, { closure, cells, thisVariable, args: call.args });
}

/**
 * A function that bytecode made, before a break for instance. Each run makes another one, so its code is
 * guarded and not its identity; what it has captured is read through it.
 */
function inlineMadeClosure(t: Tracer, callee: FunctionVariable, made: Closure, call: Call): number {
  const base = callee.source!;
  const { code, scope, homeObject, lexicalThis } = made;
  t.guard(`closure ${sourceKey(base)}`, { kind: 'closure', source: base, code, scope, homeObject });
  const thisVariable = lexicalThis
    ? t.read({ kind: 'closureThis', base }, lexicalThis.value)
    : receiverSeenBy(made, call.receiver, `${code.name}()`);
  const closure = { code, scope, homeObject };
  const cells = made.cells.map((cell, index) =>
    t.read({ kind: 'closureCell', base, index }, cell),
  ) as CellReference[];
  return enterCall(t, call, { closure, cells, thisVariable, args: call.args });
}

/** Pushes the callee; the caller goes on after its call, with the result in `dst`. */
function enterCall(
  t: Tracer,
  { caller, dst, gradMode }: Call,
  callee: Pick<TraceFrame, 'closure' | 'cells' | 'thisVariable' | 'args'>,
): number {
  if (callee.closure.code.isAsync) {
    throw new GraphBreak('native-call', `${callee.closure.code.name || 'a function'} is async`);
  }
  const registers = new Array<Variable | undefined>(callee.closure.code.registerCount);
  const mode = gradMode ?? caller.gradMode;
  t.push({ ...callee, entry: null, registers, returnTo: dst, gradMode: mode, pc: 0 });
  return caller.pc + 1;
}
