import { invariant } from '../../../../runtime/errors/invariant.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import type { Pc, Reg } from '../../../vm/bytecode/instructions.ts';
import { construct } from '../../builtins/construct.ts';
import type { Tracer } from '../../state/tracer.ts';
import { arrayElements, asArray } from '../../values/arrays.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import { undefinedVariable, type Variable } from '../../variables/variable.ts';
import { invoke } from '../calls/invoke.ts';
import { spreadRest } from '../calls/spread-rest.ts';
import { get, type Handlers, set } from './handler.ts';

/** Call instructions. If a frame was pushed, its result goes to `dst` and the caller continues after the call. */
export const callHandlers: Handlers<'call' | 'callSpread' | 'construct' | 'constructSpread'> = {
  call: (t, frame, { dst, callee, receiver, args }) =>
    perform(t, frame, dst, callee, receiver, read(frame, args)),
  callSpread: (t, frame, { dst, callee, receiver, args }) => {
    const spread = spreadRest(t, get(frame, callee), get(frame, args));
    if (!spread) return perform(t, frame, dst, callee, receiver, listed(t, get(frame, args)));
    const next = perform(t, frame, dst, callee, receiver, spread.args);
    invariant(t.top.closure.code === spread.code && t.top !== frame, 'the function is inlined');
    t.top.rest = spread.rest;
    return next;
  },
  construct: (t, frame, { dst, callee, args }) =>
    finish(frame, dst, construct(t, get(frame, callee), read(frame, args), dst)),
  constructSpread: (t, frame, { dst, callee, args }) =>
    finish(frame, dst, construct(t, get(frame, callee), listed(t, get(frame, args)), dst)),
};

function perform(
  t: Tracer,
  frame: TraceFrame,
  dst: Reg,
  callee: Reg,
  receiver: Reg | null,
  args: readonly Variable[],
): Pc {
  const call = {
    receiver: receiver === null ? undefinedVariable : get(frame, receiver),
    args,
    gradMode: null,
    returnTo: dst,
  };
  return finish(frame, dst, invoke(t, get(frame, callee), call));
}

function finish(frame: TraceFrame, dst: Reg, result: Variable | undefined): Pc {
  if (result) set(frame, dst, result);
  return frame.pc + 1;
}

/** Returns the arguments of a spread call. */
function listed(t: Tracer, args: Variable): Variable[] {
  const array = asArray(t, args);
  if (!array) throw new GraphBreak('unsupported-value', 'arguments that are not an array');
  return arrayElements(t, array);
}

function read(frame: TraceFrame, registers: readonly Reg[]): Variable[] {
  return registers.map((register) => get(frame, register));
}
