/**
 * `object.#name` for pre-existing classes: accessed through the function's scope for pre-existing objects, and by
 * hidden keys for objects created in the trace.
 */

import { getOrInsert } from '../../../../runtime/collections/get-or-insert.ts';
import { isProxy } from '../../../guards/plain.ts';
import type { Source } from '../../../guards/source.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import type { Code } from '../../../vm/bytecode/code.ts';
import type { Closure, PrivateAccess } from '../../../vm/bytecode/frame.ts';
import { closureOf } from '../../../vm/frames/function-of.ts';
import { PrivateSlot } from '../../../vm/language/private-slot.ts';
import { RestartTrace } from '../../control-flow/plans/loop-plans.ts';
import { ownContent, setOwnProperty } from '../../heap/made-objects.ts';
import type { Tracer } from '../../state/tracer.ts';
import { guardIdentity } from '../../state/value-guards.ts';
import type { PrivateMemberKind } from '../../variables/code-of.ts';
import {
  hiddenAttributes,
  isPrivateKey,
  ownerOf,
  privateKey,
} from '../../variables/private-elements.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import { specialized } from '../../variables/unions.ts';
import {
  type FunctionVariable,
  known,
  type NewObjectVariable,
  undefinedVariable,
  type Variable,
} from '../../variables/variable.ts';
import { heldFunction } from '../getters.ts';

// biome-ignore lint/complexity/noBannedTypes: a class.
type Class = Function;

export function readPrivate(
  t: Tracer,
  frame: TraceFrame,
  object: Variable,
  name: string,
): Variable {
  const [base, access] = [specialized(object), accessTo(t, frame, name)];
  if (base.kind === 'newObject') return readMade(t, base, access, name);
  const location = placeOf(t, base, access, name);
  if (access.kind === 'accessor') return callMember(t, access, name, 'get', base, []);
  t.effects.met.touch(location.value, location.source, `#${name}`);
  const field = writtenField(t, location, access);
  const written = field && t.effects.written(field.slot, field.source, 'value');
  if (written) return written;
  const value = access.get(location.value);
  return t.read({ kind: 'private', base: location.source, access, name, slot: false }, value);
}

export function writePrivate(
  t: Tracer,
  frame: TraceFrame,
  object: Variable,
  name: string,
  value: Variable,
): void {
  const [base, access] = [specialized(object), accessTo(t, frame, name)];
  if (access.kind === 'method') throw new GraphBreak('throw', `the method #${name} is assigned`);
  if (base.kind === 'newObject') {
    const key = keyIn(base, access, name);
    if (access.kind === 'accessor') callMember(t, access, name, 'set', base, [value]);
    else setOwnProperty(t, base, key, value, hiddenAttributes);
    return;
  }
  const location = placeOf(t, base, access, name);
  if (access.kind === 'accessor') {
    callMember(t, access, name, 'set', base, [value]);
    return;
  }
  t.effects.met.touch(location.value, location.source, `#${name}`);
  t.effects.met.write(location.value, `#${name}`);
  let field = writtenField(t, location, access);
  if (!field) {
    const source: Source = { kind: 'private', base: location.source, access, name, slot: true };
    field = { slot: new PrivateSlot(access, location.value), source };
    // In a later call, another object may lack the field: the read throws there.
    const read: Source = { kind: 'private', base: location.source, access, name, slot: false };
    t.read(read, access.get(location.value));
    t.writtenFields.set(location.value, [...(t.writtenFields.get(location.value) ?? []), field]);
  }
  t.effects.write(field.slot, field.source, 'value', value);
}

/** `#name in object` */
export function hasPrivate(t: Tracer, frame: TraceFrame, object: Variable, name: string): Variable {
  const [base, access] = [specialized(object), accessTo(t, frame, name)];
  if (base.kind === 'newObject') {
    return known(
      ownContent(base, privateKey(ownerIn(access, name), nameIn(access, name))) !== undefined,
    );
  }
  if (base.kind === 'object' || base.kind === 'function') {
    const source = base.source ?? heldFunction(base);
    if (base.kind === 'function') guardIdentity(t, base);
    // An object never loses a private name, but a later call may pass another object.
    const has = access.has(base.value);
    return t.read({ kind: 'hasPrivate', base: source, access, name }, has);
  }
  if (base.kind === 'newArray' || base.kind === 'newCollection') return known(false);
  throw new GraphBreak('unsupported-value', `#${name} is looked for`);
}

/** Adds a private field to a new instance, as its constructor does. */
export function addPrivate(
  t: Tracer,
  frame: TraceFrame,
  object: Variable,
  name: string,
  value: Variable,
): void {
  const key = privateKey(ownerIn(accessTo(t, frame, name), name), name);
  addKey(t, object, key, value);
}

/** Adds the private methods and accessors of the class that declares the name to a new instance. */
export function brandPrivate(t: Tracer, frame: TraceFrame, object: Variable, name: string): void {
  addKey(t, object, privateKey(ownerIn(accessTo(t, frame, name), name), ''), undefinedVariable);
}

function addKey(t: Tracer, object: Variable, key: symbol, value: Variable): void {
  // A superclass constructor may have returned another object.
  if (object.kind !== 'newObject' || ownContent(object, key)) {
    throw new GraphBreak('constructor', 'private elements are added to another object');
  }
  setOwnProperty(t, object, key, value, hiddenAttributes);
}

/**
 * Called if an instance with private elements would leave the trace: restarts the trace with its class constructed
 * natively.
 */
export function expectNoPrivate(t: Tracer, keys: Iterable<symbol>): void {
  const owners = [...keys].filter(isPrivateKey).map(ownerOf);
  if (owners.length === 0) return;
  for (const owner of owners) if (owner) t.control.plans.native.add(owner);
  throw new RestartTrace();
}

/**
 * Called if a constructor frame would continue natively, where it can't add the private elements of its class:
 * restarts the trace with the class constructed natively.
 */
export function expectNoPrivateFields(t: Tracer, { fields, fn }: Omit<Closure, 'cells'>): void {
  const code = typeof fields === 'function' ? closureOf(fields)?.code : undefined;
  if (!code || typeof fn !== 'function' || !addsPrivate(code)) return;
  t.control.plans.native.add(fn);
  throw new RestartTrace();
}

const adding = new WeakMap<Code, boolean>();

function addsPrivate(code: Code): boolean {
  return getOrInsert(adding, code, () =>
    code.instructions.some(
      (each) =>
        each.op === 'intrinsic' &&
        (each.name === 'addOwnPrivate' || each.name === 'brandOwnPrivate'),
    ),
  );
}

function readMade(
  t: Tracer,
  object: NewObjectVariable,
  access: PrivateAccess,
  name: string,
): Variable {
  const key = keyIn(object, access, name);
  if (access.kind === 'field') return ownContent(object, key)!;
  if (access.kind === 'accessor') return callMember(t, access, name, 'get', object, []);
  return memberOf(t, access, name, 'method');
}

/** Returns the key of the name; throws a graph break if the instance doesn't have it. */
function keyIn(object: NewObjectVariable, access: PrivateAccess, name: string): symbol {
  const key = privateKey(ownerIn(access, name), nameIn(access, name));
  if (!ownContent(object, key)) throw new GraphBreak('throw', `#${name} is missing`);
  return key;
}

/** Methods and accessors are added together and share a single brand. */
const nameIn = ({ kind }: PrivateAccess, name: string): string => (kind === 'field' ? name : '');

function callMember(
  t: Tracer,
  access: PrivateAccess,
  name: string,
  kind: 'get' | 'set',
  receiver: Variable,
  args: readonly Variable[],
): Variable {
  return t.execution.callInside(memberOf(t, access, name, kind), receiver, args);
}

function memberOf(
  t: Tracer,
  access: PrivateAccess,
  name: string,
  kind: PrivateMemberKind,
): FunctionVariable {
  const value = t.codeOf.privateMember(ownerIn(access, name), name, kind);
  if (!value) throw new GraphBreak('unsupported-value', `#${name} has no ${kind} to follow`);
  return { kind: 'function', value: value as FunctionVariable['value'], source: null };
}

/**
 * Returns the access to the name, with the class that declares it: found by the class's name or, if it has none or the
 * engine dropped it, by the home object of the running method.
 */
function accessTo(t: Tracer, { closure }: TraceFrame, name: string): PrivateAccess {
  const access = closure.scope.privateName?.(name);
  if (!access?.kind) throw new GraphBreak('unsupported-value', `#${name} is private`);
  const { homeObject } = closure;
  if (!homeObject || hasOwner(access)) return access;
  return { ...access, owner: () => t.codeOf.privateOwner(homeObject, name) };
}

const hasOwner = (access: PrivateAccess | undefined): boolean =>
  typeof access?.owner?.() === 'function';

/** Returns whether the class of a private name used by the method can only be found by its home object. */
export const needsHomeForPrivate = ({ code, scope }: Omit<Closure, 'cells'>): boolean =>
  privateNamesIn(code).some((name) => !hasOwner(scope.privateName?.(name)));

const namesIn = new WeakMap<Code, readonly string[]>();

/** Returns the private names used by the code, or by an arrow in it. */
function privateNamesIn(code: Code): readonly string[] {
  let names = namesIn.get(code);
  if (!names) {
    const arrows = code.inner.filter(({ kind }) => kind === 'arrow');
    const own = code.instructions.flatMap((each) =>
      each.op === 'getPrivate' || each.op === 'setPrivate' || each.op === 'hasPrivate'
        ? [each.name]
        : [],
    );
    names = [...own, ...arrows.flatMap(privateNamesIn)];
    namesIn.set(code, names);
  }
  return names;
}

function ownerIn(access: PrivateAccess, name: string): Class {
  const owner = access.owner?.();
  if (typeof owner === 'function') return owner;
  throw new GraphBreak('unsupported-value', `the class of #${name} is not found`);
}

interface PrivateLocation {
  readonly value: object;
  readonly source: Source;
}

function placeOf(t: Tracer, base: Variable, access: PrivateAccess, name: string): PrivateLocation {
  if (base.kind !== 'object' && base.kind !== 'function') {
    throw new GraphBreak('unsupported-value', `#${name} is private`);
  }
  if (isProxy(base.value) || !access.has(base.value)) {
    throw new GraphBreak('throw', `#${name} is missing`);
  }
  if (base.kind === 'function') guardIdentity(t, base);
  return { value: base.value, source: base.source ?? heldFunction(base) };
}

/**
 * Returns the field as first written. Other paths to it would be guarded as paths to one object, but each read of a
 * slot creates a new one; the paths to the object that has the field are guarded instead.
 */
function writtenField(t: Tracer, { value }: PrivateLocation, access: PrivateAccess) {
  if (access.kind !== 'field') return undefined;
  return t.writtenFields.get(value)?.find(({ slot }) => slot.isReadBy(access));
}
