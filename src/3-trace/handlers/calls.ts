import type { Reg } from '../../bytecode/instructions.ts';
import { sourceKey } from '../../guards/source.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { callApi, isDataRead, isTracedApi } from '../api.ts';
import { arrayElements, iterableArray } from '../arrays.ts';
import { callBuiltin } from '../builtins.ts';
import { type CodeOf, isRefused } from '../code-of.ts';
import { isFrameworkFile, isInlinedFrameworkFile } from '../framework-files.ts';
import type { TraceFrame, Tracer } from '../tracer.ts';
import {
  type ClosureVariable,
  type FunctionVariable,
  isPrimitive,
  known,
  undefinedVariable,
  type Variable,
} from '../variable.ts';
import { get, type Handlers, set } from './handler.ts';

/** Calls: the tensor API is appended, user functions are inlined, everything else runs natively. */
export function callHandlers(
  codeOf: CodeOf,
): Handlers<'call' | 'callSpread' | 'construct' | 'constructSpread'> {
  const call = (
    t: Tracer,
    frame: TraceFrame,
    dst: Reg,
    callee: Variable,
    receiver: Variable,
    args: readonly Variable[],
  ): number | undefined => {
    if (callee.kind === 'closure') return inlineClosure(t, frame, dst, callee, receiver, args);
    if (callee.kind !== 'function')
      throw new GraphBreak('native-call', `a ${callee.kind} is called`);
    guardIdentity(t, callee);
    const result = callKnown(t, callee, receiver, args);
    if (!result) return inlineFunction(t, frame, dst, callee, receiver, args, codeOf);
    set(frame, dst, result);
    return undefined;
  };
  return {
    call: (t, frame, { dst, callee, receiver, args }) =>
      call(
        t,
        frame,
        dst,
        get(frame, callee),
        receiver === null ? undefinedVariable : get(frame, receiver),
        args.map((reg) => get(frame, reg)),
      ),
    callSpread: (t, frame, { dst, callee, receiver, args }) =>
      call(
        t,
        frame,
        dst,
        get(frame, callee),
        receiver === null ? undefinedVariable : get(frame, receiver),
        arrayElements(t, iterableArray(t, get(frame, args))),
      ),
    construct: (_t, frame, { callee }) => refuseConstruct(get(frame, callee)),
    constructSpread: (_t, frame, { callee }) => refuseConstruct(get(frame, callee)),
  };
}

function refuseConstruct(callee: Variable): never {
  const name = callee.kind === 'function' ? callee.value.name : 'an unknown class';
  throw new GraphBreak('native-call', `new ${name}`);
}

function guardIdentity(t: Tracer, { source, value }: FunctionVariable): void {
  if (source) t.guard(`identity ${sourceKey(source)}`, { kind: 'identity', source, value });
}

/** Functions that need no source: those of the tensor API, and pure ones of the host. */
function callKnown(
  t: Tracer,
  { value }: FunctionVariable,
  receiver: Variable,
  args: readonly Variable[],
): Variable | undefined {
  if (isTracedApi(value)) return callApi(t, value, receiver, args);
  if (isDataRead(value)) throw new GraphBreak('data-read', `${value.name}()`);
  return callBuiltin(t, value, receiver, args);
}

function inlineFunction(
  t: Tracer,
  frame: TraceFrame,
  dst: Reg,
  callee: FunctionVariable,
  receiver: Variable,
  args: readonly Variable[],
  codeOf: CodeOf,
): number {
  const name = callee.value.name || 'an anonymous function';
  const found = codeOf(callee.value);
  if (isRefused(found)) {
    throw new GraphBreak(found.native ? 'native-call' : 'not-captured', `${name}: ${found.why}`);
  }
  const { closure, boundThis, boundArgs } = found;
  const { file } = closure.code.source;
  if (isFrameworkFile(file) && !isInlinedFrameworkFile(file)) {
    throw new GraphBreak('framework-call', `${name}()`);
  }
  if (boundThis || boundArgs.length > 0) {
    throw new GraphBreak('unsupported-value', `the bound function ${name}`);
  }
  const { kind, strict } = closure.code;
  if (!strict && kind !== 'arrow' && receiver.kind === 'constant') {
    throw new GraphBreak('unsupported-value', `${name} is sloppy and is called without an object`);
  }
  const { lexicalThis } = closure;
  const thisVariable = lexicalThis ? lexicalThisVariable(t, lexicalThis.value) : receiver;
  return enterCall(t, frame, dst, { closure, cells: [], thisVariable, args });
}

/** The `this` of the place where an arrow was made: it can't change. */
function lexicalThisVariable(t: Tracer, value: unknown): Variable {
  if (isPrimitive(value)) return known(value);
  return t.read({ kind: 'held', value, name: 'this' }, value);
}

function inlineClosure(
  t: Tracer,
  frame: TraceFrame,
  dst: Reg,
  callee: ClosureVariable,
  receiver: Variable,
  args: readonly Variable[],
): number {
  const { code, outer, cells } = callee;
  const arrow = code.kind === 'arrow';
  const { scope } = outer;
  const closure = { code, scope, homeObject: arrow ? outer.homeObject : undefined };
  const thisVariable = arrow ? callee.thisVariable : receiver;
  return enterCall(t, frame, dst, { closure, cells, thisVariable, args });
}

/** Pushes the callee; the caller goes on after its call, with the result in `dst`. */
function enterCall(
  t: Tracer,
  caller: TraceFrame,
  dst: Reg,
  callee: Pick<TraceFrame, 'closure' | 'cells' | 'thisVariable' | 'args'>,
): number {
  const registers = new Array<Variable | undefined>(callee.closure.code.registerCount);
  t.push({ ...callee, entry: null, registers, returnTo: dst, pc: 0 });
  return caller.pc + 1;
}
