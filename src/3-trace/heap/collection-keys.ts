/** Keys of Maps and Sets: which keys are equal, and what is guarded about it. */

import type { Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import type { Primitive } from '../../vm/bytecode/instructions.ts';
import { expectIdentity } from '../state/listed.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf, guardObject, isSame } from '../state/value-guards.ts';
import { numberNeeded } from '../variables/number-needed.ts';
import { textBreak } from '../variables/text.ts';
import { specialized } from '../variables/unions.ts';
import { known, type Variable } from '../variables/variable.ts';

/**
 * Returns the identity by which a Map compares a key: the primitive, the pre-existing object, or the variable of
 * an object created in the trace. Guards that it is the same object in later calls. If an earlier trace has found
 * another one, guards instead which keys of the collection it is equal to.
 */
export function keyIdentity(t: Tracer, given: Variable, keys: Iterable<Variable>): unknown {
  const changing = changingKey(t, given) !== undefined;
  if (changing) guardObject(t, given);
  else guardKey(t, given);
  const isTensor = specialized(given).kind === 'tensor';
  if (changing || isTensor || t.variables.hasChangingKeys) {
    for (const other of keys) {
      if (changing || changingKey(t, other)) compareKeys(t, given, other);
      if (isTensor && other !== given) expectIdentity(other);
    }
  }
  return identityOf(t, given);
}

/** Returns the location of a pre-existing object that differs from call to call; undefined for all other keys. */
export function changingKey(t: Tracer, given: Variable): Source | undefined {
  const outer = outerKey(given);
  if (!outer?.source) return undefined;
  return t.variables.isChangingKey(outer.source, outer.value) ? outer.source : undefined;
}

function guardKey(t: Tracer, given: Variable): void {
  const outer = outerKey(given);
  if (!outer?.source) return;
  const { source, value } = outer;
  t.guard(`identity ${sourceKey(source)}`, { kind: 'identity', source, value });
}

function compareKeys(t: Tracer, a: Variable, b: Variable): void {
  const [x, y] = [specialized(a), specialized(b)];
  if (outerKey(x) && outerKey(y)) isSame(t, x, y);
}

interface OuterKey {
  readonly value: object;
  readonly source: Source | null;
}

/** Returns the pre-existing object that a key is. */
function outerKey(given: Variable): OuterKey | undefined {
  const key = specialized(given);
  switch (key.kind) {
    case 'object':
    case 'function':
      return key;
    case 'tensor':
      return key.source && key.actual ? { value: key.actual, source: key.source } : undefined;
    case 'newArray':
    case 'newCollection':
      return key.outer && outerKey(key.outer);
    default:
      return undefined;
  }
}

function identityOf(t: Tracer, given: Variable): unknown {
  const key = specialized(given);
  switch (key.kind) {
    case 'constant':
    case 'symbolic':
      return unsigned(constantOf(t, key));
    case 'object':
    case 'function':
    case 'tensor':
    case 'newArray':
    case 'newCollection':
      return outerKey(key)?.value ?? inside(key);
    case 'scalar':
      throw numberNeeded(key, 'is a key of a Map or Set');
    case 'text':
      throw textBreak(key, 'is a key of a Map or Set');
    default:
      return inside(key);
  }
}

const unsigned = (value: Primitive | symbol): Primitive | symbol => (value === 0 ? 0 : value);

function inside(key: Variable): Variable {
  expectIdentity(key);
  made.add(key);
  return key;
}

/** Whether a key's identity is that of an object created in the trace. */
export const isMadeInside = (id: unknown): boolean => made.has(id as object);
const made = new WeakSet<object>();

const isNumber = (key: Variable) => key.kind === 'constant' || key.kind === 'symbolic';

/** Normalizes -0 to 0, as a Map or Set does. */
export function keptKey(key: Variable, id: unknown): Variable {
  return id === 0 && isNumber(key) && Object.is(key.value, -0) ? known(0) : key;
}
