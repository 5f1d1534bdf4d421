import { guardIdentity } from '../state/facts.ts';
import type { Tracer } from '../state/tracer.ts';
import type { Variable } from '../variables/variable.ts';

/** Whether `receiver.of` and `receiver.from` make arrays of the language's own: a constructor makes objects of its own. */
export function makesArrays(t: Tracer, receiver: Variable): boolean {
  if (['closure', 'class', 'bound'].includes(receiver.kind)) return false;
  if (receiver.kind !== 'function') return receiver.kind !== 'object';
  guardIdentity(t, receiver);
  return (receiver.value as unknown) === Array;
}
