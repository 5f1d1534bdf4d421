/** `super.key`: looked up above the object that the running method stands on. */

import { accessorOf, isProxy } from '../../../guards/plain.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import type { Key } from '../../heap/made-objects.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import type { Variable } from '../../variables/variable.ts';
import { callGetter } from '../getters.ts';
import { readFor } from '../properties.ts';
import { prototypeVariable } from './prototype-variable.ts';

/** Where the search begins. */
export function superPrototype(t: Tracer, { closure, home }: TraceFrame): Variable {
  if (home) return prototypeVariable(t, home);
  const { homeObject } = closure;
  if (!homeObject) throw new GraphBreak('unsupported-value', 'super without its class');
  const base = { kind: 'held', value: homeObject, name: 'the object of the method' } as const;
  return t.read({ kind: 'prototypeOf', base }, Object.getPrototypeOf(homeObject));
}

/** A getter there sees the receiver as its `this`. */
export function readAbove(t: Tracer, base: Variable, receiver: Variable, key: Key): Variable {
  if ((base.kind === 'object' || base.kind === 'function') && !isProxy(base.value)) {
    const accessor = accessorOf(base.value, key);
    if (accessor) return callGetter(t, base, receiver, key, accessor);
  }
  return readFor(t, base, receiver, key);
}
