/** `super.key`, which is looked up in the prototype of the method's home object. */

import { GraphBreak } from '../../../traces/graph-break.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import type { Variable } from '../../variables/variable.ts';
import { prototypeVariable } from './prototype-variable.ts';

/** Returns the object where the lookup starts. */
export function superPrototype(t: Tracer, { closure, home }: TraceFrame): Variable {
  if (home) return prototypeVariable(t, home);
  const { homeObject } = closure;
  if (!homeObject) throw new GraphBreak('unsupported-value', 'super without its class');
  const base = { kind: 'held', value: homeObject, name: 'the object of the method' } as const;
  return t.read({ kind: 'prototypeOf', base }, Object.getPrototypeOf(homeObject));
}
