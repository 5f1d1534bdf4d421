/** `Math.random()` and the clock, which return a different number on each call. */

import { bind1 } from '../../../runtime/ops/core/bind.ts';
import type { NumberCall } from '../../../runtime/ops/numbers/number-calls.ts';
import { numberCallOp } from '../../../runtime/program/control-ops.ts';
import type { ProgramOp } from '../../../runtime/program/program.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { Tracer } from '../state/tracer.ts';
import type { DeviceScalar, Variable } from '../variables/variable.ts';
import type { Builtin, BuiltinTable } from './builtin.ts';

/**
 * Adds the call to the program if it is in a branch or loop, if its number decides something there, or if an earlier
 * call is already in the program. Otherwise each run makes the call before or after the program.
 */
function call(t: Tracer, fn: NumberCall): Variable {
  const { builder, control, journal, top } = t;
  const site = { code: top.closure.code, pc: top.pc };
  if (control.plans.has('break', site.code, site.pc)) {
    throw new GraphBreak('changing-call', `${fn}() between two ops`);
  }
  const isCall = ({ op, attrs, regions = [] }: ProgramOp): boolean =>
    (op === numberCallOp && attrs.fn === fn) ||
    regions.some(({ program }) => program.ops.some(isCall));
  const isComputed =
    t.isInRegion || control.plans.has('computed', site.code, site.pc) || builder.some(isCall);
  return isComputed ? inProgram(t, fn) : t.called.add(fn, site, builder, journal);
}

function inProgram(t: Tracer, fn: NumberCall): DeviceScalar {
  t.control.hasRead = true;
  const tensor = t.runApi(() => bind1(numberCallOp, [], { fn }));
  return { kind: 'scalar', type: 'number', tensor, at: t.position() };
}

const now: Builtin = (t, receiver) => {
  if (receiver.kind !== 'object' || receiver.value !== performance) return undefined;
  const { source, value } = receiver;
  t.guard(`identity ${sourceKey(source)}`, { kind: 'identity', source, value });
  return call(t, 'performance.now');
};

export const numberCallBuiltins: BuiltinTable = [
  [Math.random, (t) => call(t, 'Math.random')],
  [Date.now, (t) => call(t, 'Date.now')],
  [performance.now, now],
];
