/** `object.#name` of objects from outside: fields and methods, through the scope of the function. */

import { isProxy } from '../guards/plain.ts';
import type { Source } from '../guards/source.ts';
import { GraphBreak } from '../traces/graph-break.ts';
import type { PrivateAccess } from '../vm/bytecode/frame.ts';
import { PrivateSlot } from '../vm/language/private-slot.ts';
import type { TraceFrame } from './trace-frame.ts';
import type { Tracer } from './tracer.ts';
import { known, type ObjectVariable, type Variable } from './variable.ts';

export function readPrivate(
  t: Tracer,
  frame: TraceFrame,
  object: Variable,
  name: string,
): Variable {
  const { base, access } = placeOf(frame, object, name);
  t.effects.met.touch(base.value, base.source, `#${name}`);
  const slot = writtenSlot(t, base, access);
  const written = slot && t.effects.written(slot, slotSource(base, access, name), 'value');
  if (written) return written;
  const value = access.get(base.value);
  return t.read({ kind: 'private', base: base.source, access, name, slot: false }, value);
}

export function writePrivate(
  t: Tracer,
  frame: TraceFrame,
  object: Variable,
  name: string,
  value: Variable,
): void {
  const { base, access } = placeOf(frame, object, name);
  if (access.kind !== 'field') throw new GraphBreak('object-write', `#${name} is assigned`);
  t.effects.met.touch(base.value, base.source, `#${name}`);
  t.effects.met.write(base.value, `#${name}`);
  let slot = writtenSlot(t, base, access);
  if (!slot) {
    slot = new PrivateSlot(access, base.value);
    t.privateSlots.set(base.value, [...(t.privateSlots.get(base.value) ?? []), slot]);
  }
  t.effects.write(slot, slotSource(base, access, name), 'value', value);
}

/** `#name in object` */
export function hasPrivate(frame: TraceFrame, object: Variable, name: string): Variable {
  const access = frame.closure.scope.privateName?.(name);
  // What an object is stamped with never goes, but a later call may bring another object.
  if (object.kind === 'object' && access && object.source.kind === 'held') {
    return known(access.has(object.value));
  }
  throw new GraphBreak('unsupported-value', `#${name} is looked for`);
}

interface Place {
  readonly base: ObjectVariable;
  readonly access: PrivateAccess;
}

function placeOf(frame: TraceFrame, object: Variable, name: string): Place {
  const access = frame.closure.scope.privateName?.(name);
  // An accessor's code would run, and of an unknown one nobody knows.
  if (object.kind !== 'object' || !access || access.kind === 'accessor' || !access.kind) {
    throw new GraphBreak('unsupported-value', `#${name} is private`);
  }
  if (isProxy(object.value) || !access.has(object.value)) {
    throw new GraphBreak('throw', `#${name} is missing`);
  }
  return { base: object, access };
}

function writtenSlot(t: Tracer, base: ObjectVariable, access: PrivateAccess) {
  if (access.kind !== 'field') return undefined;
  return t.privateSlots.get(base.value)?.find((slot) => slot.isReadBy(access));
}

function slotSource({ source: base }: ObjectVariable, access: PrivateAccess, name: string): Source {
  return { kind: 'private', base, access, name, slot: true };
}
