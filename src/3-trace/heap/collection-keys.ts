/** Keys of Maps and Sets: which keys are equal, and which guards that needs. */

import type { NumberExpr } from '../../guards/number-expr.ts';
import type { Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import type { Primitive } from '../../vm/bytecode/instructions.ts';
import { comesFromBreak, isOfSizes } from '../inputs/symbolic.ts';
import { expectIdentity } from '../state/listed.ts';
import { guardNumbers } from '../state/symbolic-guards.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf, guardObject, isSame, truthiness } from '../state/value-guards.ts';
import { numberNeeded } from '../variables/number-needed.ts';
import { textBreak } from '../variables/text-variable.ts';
import { specialized } from '../variables/unions.ts';
import {
  type ConstantVariable,
  known,
  type SymbolicVariable,
  type Variable,
} from '../variables/variable.ts';

/**
 * Returns the identity by which a Map compares a key: the primitive, the pre-existing object, or the variable of an
 * object created in the trace. Guards that it is the same object in later calls. If an earlier trace found another
 * object, guards instead which keys of the collection it equals.
 */
export function keyIdentity(t: Tracer, variable: Variable, keys: Iterable<Variable>): unknown {
  const changing = changingKey(t, variable) !== undefined;
  if (changing) guardKind(t, variable);
  else guardKey(t, variable);
  const isTensor = specialized(variable).kind === 'tensor';
  if (changing || isTensor || t.variables.hasChangingKeys) {
    for (const other of keys) {
      if (changing || changingKey(t, other)) compareKeys(t, variable, other);
      if (isTensor && other !== variable) expectIdentity(other);
    }
  }
  return identityOf(t, variable);
}

/** A key that may be another object or number in each call. */
interface ChangingKey {
  readonly source: Source;
  /** Added to the number at the source. */
  readonly plus: number;
}

/** Returns where a pre-existing key that differs between calls is read; undefined for all other keys. */
export function changingKey(t: Tracer, variable: Variable): ChangingKey | undefined {
  const key = specialized(variable);
  if (key.kind === 'symbolic') return changingNumber(t, key);
  const outer = outerKey(key);
  if (!outer?.source) return undefined;
  const { source, value } = outer;
  return t.variables.isChangingKey(source, value) ? { source, plus: 0 } : undefined;
}

/** A number that had another value before, or differs from such a number by a constant. */
function changingNumber(t: Tracer, key: SymbolicVariable): ChangingKey | undefined {
  if (typeof key.value !== 'number' || Number.isNaN(key.value)) return undefined;
  if (t.called.sitesOf(key.expr).length > 0 || comesFromBreak(t, key)) return undefined;
  const found = withOffset(key.expr);
  // The index of an iteration has no location.
  if (!found || found.source.kind === 'held') return undefined;
  t.variables.hasChangingKeys = true;
  return found;
}

function withOffset(expr: NumberExpr): ChangingKey | undefined {
  if (expr.kind === 'source') return { source: expr.source, plus: 0 };
  if (expr.kind !== 'apply' || (expr.fn !== '+' && expr.fn !== '-')) return undefined;
  const [left, right] = expr.args;
  if (left?.kind !== 'source' || right?.kind !== 'constant') return undefined;
  if (!Number.isSafeInteger(right.value)) return undefined;
  return { source: left.source, plus: expr.fn === '+' ? right.value : -right.value };
}

function guardKind(t: Tracer, variable: Variable): void {
  const key = specialized(variable);
  if (key.kind === 'symbolic') guardNumbers(t, key);
  else guardObject(t, key);
}

function guardKey(t: Tracer, variable: Variable): void {
  const outer = outerKey(variable);
  if (!outer?.source) return;
  const { source, value } = outer;
  t.guard(`identity ${sourceKey(source)}`, { kind: 'identity', source, value });
}

function compareKeys(t: Tracer, a: Variable, b: Variable): void {
  const [x, y] = [specialized(a), specialized(b)];
  if (isNumber(x) && isNumber(y)) compareNumbers(t, x, y);
  if (outerKey(x) && outerKey(y)) isSame(t, x, y);
}

/** Guards which of two numbers is larger, rather than that they differ: two NaNs would be one key. */
function compareNumbers(t: Tracer, a: NumberVariable, b: NumberVariable): void {
  const [x, y] = [a.value, b.value];
  if (typeof x !== 'number' || typeof y !== 'number') return;
  const args = [a, b].map((each): NumberExpr => {
    if (each.kind === 'symbolic') return each.expr;
    return { kind: 'constant', value: constantOf(t, each) as number };
  });
  const fn = x === y ? '===' : x < y ? '<' : '>';
  const expr: NumberExpr = { kind: 'apply', fn, args };
  truthiness(t, { kind: 'symbolic', expr, value: true, source: null });
}

interface OuterKey {
  readonly value: object;
  readonly source: Source | null;
}

/** Returns the pre-existing object that is used as a key. */
function outerKey(variable: Variable): OuterKey | undefined {
  const key = specialized(variable);
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

function identityOf(t: Tracer, variable: Variable): unknown {
  const key = specialized(variable);
  switch (key.kind) {
    case 'symbolic':
      // Guards comparisons with all other keys, not the number itself.
      return unsigned(changingNumber(t, key) ? key.value : constantOf(t, key));
    case 'constant':
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

/** Whether a key is identified as an object created in the trace. */
export const isMadeInside = (id: unknown): boolean => made.has(id as object);
const made = new WeakSet<object>();

type NumberVariable = ConstantVariable | SymbolicVariable;

const isNumber = (key: Variable): key is NumberVariable =>
  key.kind === 'constant' || key.kind === 'symbolic';

/** Normalizes -0 to 0, as a Map or Set does. */
export function keptKey(t: Tracer, key: Variable, id: unknown): Variable {
  if (key.kind === 'symbolic' && !isOfSizes(key) && changingNumber(t, key)) {
    const expr: NumberExpr = {
      kind: 'apply',
      fn: '+',
      args: [key.expr, { kind: 'constant', value: 0 }],
    };
    return { kind: 'symbolic', expr, value: (key.value as number) + 0, source: null };
  }
  return id === 0 && isNumber(key) && Object.is(key.value, -0) ? known(0) : key;
}
