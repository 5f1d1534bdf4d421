/**
 * `object.#name` for classes created in the trace. Each evaluation of a class declares new names, which never
 * leave the trace: if a name would, the class is created natively.
 */

import { InvariantError } from '../../../../runtime/errors/invariant.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import type { Code } from '../../../vm/bytecode/code.ts';
import { privateFailure } from '../../../vm/language/private-failures.ts';
import { ownContent, setOwnProperty } from '../../heap/made-objects.ts';
import { typeError } from '../../state/exceptions.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf } from '../../state/value-guards.ts';
import type { MadePrivateName } from '../../variables/function-variables.ts';
import { hiddenAttributes, privateKey } from '../../variables/private-elements.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import { specialized } from '../../variables/unions.ts';
import {
  known,
  type NewObjectVariable,
  undefinedVariable,
  type Variable,
} from '../../variables/variable.ts';
import { isPrimitiveVariable } from '../to-primitive.ts';

/**
 * Declares a name for the class that follows in the frame. `owner`: describes the objects that have the name, as V8
 * does.
 */
export function newPrivateName(
  t: Tracer,
  frame: TraceFrame,
  description: string,
  owner: string,
): Variable {
  const code = followingClass(frame);
  if (t.control.plans.native.has(code)) {
    throw new GraphBreak('unsupported-value', `a class with ${description} is made`);
  }
  let key: symbol;
  let times = 0;
  do key = privateKey(code, `${description} ${times++}`);
  while (t.privateNames.has(key));
  t.privateNames.set(key, { description, owner, shared: null });
  return known(key);
}

/** Private names are declared immediately before their class. */
function followingClass({ closure: { code }, pc }: TraceFrame): Code {
  for (const instruction of code.instructions.slice(pc)) {
    if (instruction.op === 'class') return code.inner[instruction.code]!;
  }
  throw new InvariantError('a private name belongs to a class');
}

export function definePrivateMethod(t: Tracer, name: Variable, value: Variable): void {
  nameOf(t, name).declared.shared = { value, get: null, set: null };
}

export function definePrivateAccessor(
  t: Tracer,
  name: Variable,
  half: 'get' | 'set',
  fn: Variable,
): void {
  const { declared } = nameOf(t, name);
  declared.shared = { value: null, get: null, set: null, ...declared.shared, [half]: fn };
}

/** Adds a field, or with `undefined` the brand that methods and accessors check. */
export function addMadePrivate(t: Tracer, object: Variable, name: Variable, value: Variable): void {
  const { key, declared } = nameOf(t, name);
  const holder = holderOf(object);
  // A superclass constructor may have returned another object.
  if (!holder) throw new GraphBreak('constructor', 'private elements are added to another object');
  if (ownContent(holder, key)) {
    throw typeError(t, `Cannot initialize ${declared.description} twice on the same object`);
  }
  setOwnProperty(t, holder, key, value, hiddenAttributes);
}

export function getMadePrivate(t: Tracer, object: Variable, name: Variable): Variable {
  const { key, declared } = nameOf(t, name);
  const receiver = specialized(object);
  const content = contentOf(receiver, key);
  const { description, shared } = declared;
  if (!content) throw missing(t, 'read', receiver, declared);
  if (!shared) return content;
  if (shared.value) return shared.value;
  if (shared.get) return t.execution.callInside(shared.get, receiver, []);
  throw typeError(t, `'${description}' was defined without a getter`);
}

export function setMadePrivate(t: Tracer, object: Variable, name: Variable, value: Variable): void {
  const { key, declared } = nameOf(t, name);
  const receiver = specialized(object);
  const { description, shared } = declared;
  if (!contentOf(receiver, key)) throw missing(t, 'write', receiver, declared);
  if (!shared) setOwnProperty(t, holderOf(receiver)!, key, value, hiddenAttributes);
  else if (shared.value) throw typeError(t, `Private method '${description}' is not writable`);
  else if (shared.set) t.execution.callInside(shared.set, receiver, [value]);
  else throw typeError(t, `'${description}' was defined without a setter`);
}

/** `#name in object` */
export function hasMadePrivate(t: Tracer, object: Variable, name: Variable): Variable {
  const { key, declared } = nameOf(t, name);
  const receiver = specialized(object);
  if (isPrimitiveVariable(receiver)) {
    const shown = String(constantOf(t, receiver));
    const { description } = declared;
    throw typeError(t, `Cannot use 'in' operator to search for '${description}' in ${shown}`);
  }
  return known(contentOf(receiver, key) !== undefined);
}

function missing(
  t: Tracer,
  attempt: 'read' | 'write',
  receiver: Variable,
  declared: MadePrivateName,
) {
  const value = receiver.kind === 'constant' ? constantOf(t, receiver) : receiver;
  return typeError(t, privateFailure(attempt, value, declared));
}

function nameOf(t: Tracer, name: Variable) {
  const key = name.kind === 'constant' && name.value;
  const declared = typeof key === 'symbol' ? t.privateNames.get(key) : undefined;
  // The name was declared natively, before a graph break.
  if (typeof key !== 'symbol' || !declared) {
    throw new GraphBreak('unsupported-value', 'a private name of a class that is made natively');
  }
  return { key, declared };
}

/** Returns the holder of an object's private elements, if the object was created in the trace. */
function holderOf(object: Variable): NewObjectVariable | undefined {
  if (object.kind === 'newObject') return object;
  return object.kind === 'class' ? object.statics : undefined;
}

function contentOf(object: Variable, key: symbol): Variable | undefined {
  const holder = holderOf(object);
  return holder && ownContent(holder, key);
}

/** Adds the brand of private methods and accessors. */
export const brandMadePrivate = (t: Tracer, object: Variable, name: Variable): void =>
  addMadePrivate(t, object, name, undefinedVariable);
