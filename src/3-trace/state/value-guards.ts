/** Queries about the values of variables. Each query guards its result, so the trace may depend on it. */

import type { Device } from '../../../runtime/device/device.ts';
import type { NumberExpr } from '../../guards/number-expr.ts';
import { type Change, plainName } from '../../guards/plain.ts';
import type { Source } from '../../guards/source.ts';
import { keyText, rootOf, sourceKey } from '../../guards/source-key.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { Primitive } from '../../vm/bytecode/instructions.ts';
import { owns } from '../../vm/language/primordials.ts';
import { comesFromBreak, isOfBooleans, isOfSizes } from '../inputs/symbolic.ts';
import { kindName } from '../variables/kind-names.ts';
import { numberNeeded } from '../variables/number-needed.ts';
import { textBreak, truthOfText } from '../variables/text-variable.ts';
import { specialized } from '../variables/unions.ts';
import type {
  ConstantVariable,
  FunctionVariable,
  ObjectVariable,
  SymbolicVariable,
  Variable,
} from '../variables/variable.ts';
import { expectIdentity } from './listed.ts';
import {
  changingValue,
  expectLasting,
  expectNoCall,
  guardNumbers,
  guardValue,
  isPositive,
} from './symbolic-guards.ts';
import type { Tracer } from './tracer.ts';

/** Returns the value of a primitive. */
export function constantOf(t: Tracer, argument: Variable): Primitive | symbol {
  const variable = specialized(argument);
  if (variable.kind === 'symbolic') {
    if (t.numbersAreVolatile && comesFromBreak(t, variable)) breakBeforeNumber(t);
    expectNoCall(t, variable.expr);
    return guardValue(t, variable);
  }
  if (variable.kind === 'scalar') throw numberNeeded(variable, 'is needed by JavaScript');
  if (variable.kind === 'text') throw textBreak(variable, 'is needed inside');
  if (variable.kind !== 'constant') {
    throw new GraphBreak('unsupported-value', `${kindName(variable)} where a primitive is needed`);
  }
  const { source, value } = variable;
  if (!source) return value;
  if (t.numbersAreVolatile && typeof value === 'number' && rootOf(source).kind === 'register') {
    breakBeforeNumber(t);
  }
  expectConstant(t, source, value);
  t.guard(`value ${sourceKey(source)}`, { kind: 'value', source, value });
  return value;
}

/** Breaks the graph before a text or number that calls keep changing is guarded. */
function expectConstant(t: Tracer, source: Source, value: unknown): void {
  if (typeof value !== 'string' && typeof value !== 'number') return;
  expectLasting(t, `value ${sourceKey(source)}`);
  if (t.changing.isInRegister(source) && t.control.policy !== 'always') throw changingValue();
}

/**
 * Breaks the graph before a number in a register is guarded, if the graph may break. Otherwise no break came before:
 * the number is a parameter of a generator, and is guarded like any other.
 */
function breakBeforeNumber(t: Tracer): void {
  if (t.control.policy !== 'always') throw changingNumber();
}

function changingNumber(): GraphBreak {
  return new GraphBreak('host-value', 'a number that changes from run to run');
}

/**
 * Breaks the graph before a changing number, or text that contains one, is converted to text, if several values have
 * entries already: each new value would be traced again. Exempts sizes, whose texts are used as keys, and numbers
 * selected by booleans: both have few values.
 */
export function expectFewTexts(t: Tracer, values: readonly Variable[]): void {
  expectNoneFromBreak(t, values);
  if (!t.numbersAreVolatile || t.control.policy === 'always') return;
  const isChanging = (variable: Variable) =>
    variable.kind === 'symbolic'
      ? typeof variable.value === 'number' && !isOfSizes(variable) && !isOfBooleans(t, variable)
      : isFromBreak(t, variable);
  if (values.some(isChanging)) throw changingNumber();
}

/**
 * Breaks the graph at an operation on a number or text that came out of a graph break, since it differs between runs.
 * While the graph is empty, the operation is computed natively, so that no entry depends on it.
 */
export function expectNoneFromBreak(t: Tracer, values: readonly Variable[]): void {
  if (t.builder.opCount > 0 || t.control.policy === 'always') return;
  if (values.some((variable) => isFromBreak(t, variable)))
    throw new GraphBreak('host-value', 'a number read since the last graph');
}

function isFromBreak(t: Tracer, variable: Variable): boolean {
  if (variable.kind === 'symbolic') return comesFromBreak(t, variable);
  if (variable.kind !== 'constant' || variable.source?.kind !== 'register') return false;
  return typeof variable.value === 'number' || typeof variable.value === 'string';
}

/** Returns whether the value is truthy. */
export function truthiness(t: Tracer, value: Variable): boolean {
  const variable = specialized(value);
  if (variable.kind === 'symbolic' && !variable.source) {
    // Decided natively while the graph is empty: otherwise, entries would multiply with every such decision.
    if (t.builder.opCount === 0 && comesFromBreak(t, variable)) breakBeforeNumber(t);
    expectNoCall(t, variable.expr);
    guardValue(t, signOf(variable));
    return Boolean(variable.value);
  }
  if (variable.kind === 'scalar') {
    throw numberNeeded(variable, 'decides something in a native function');
  }
  if (variable.kind === 'text') return truthOfText(variable);
  const source = sourceOf(variable);
  if (variable.kind === 'symbolic' && isPositive(t, variable)) return true;
  const primitive = variable.kind === 'constant' || variable.kind === 'symbolic';
  const truthy = !primitive || Boolean(variable.value);
  if (source) t.guard(`truthy ${sourceKey(source)}`, { kind: 'truthy', source, truthy });
  return truthy;
}

/** Returns a comparison that implies whether the number is truthy. NaN, which satisfies none, is returned unchanged. */
function signOf(variable: SymbolicVariable): SymbolicVariable {
  const { expr, value } = variable;
  if (typeof value === 'boolean' || Number.isNaN(value)) return variable;
  const fn = value === 0 ? '===' : value > 0 ? '>' : '<';
  const sign: NumberExpr = { kind: 'apply', fn, args: [expr, { kind: 'constant', value: 0 }] };
  return { kind: 'symbolic', expr: sign, value: true, source: null };
}

export function typeOf(t: Tracer, value: Variable): string {
  const variable = specialized(value);
  const type = typeName(variable);
  const source = sourceOf(variable);
  if (source) t.guard(`typeof ${sourceKey(source)}`, { kind: 'typeof', source, type });
  return type;
}

/** Guards that a primitive remains a primitive. */
export function guardPrimitive(t: Tracer, value: Variable): void {
  const variable = specialized(value);
  if (variable.kind === 'constant' && variable.value === null) constantOf(t, variable);
  else typeOf(t, variable);
}

/** Guards that null and undefined stay what they are, and that any other value keeps its type. */
export function guardKind(t: Tracer, variable: Variable): void {
  if (variable.kind === 'union') return;
  if (isNullish(t, variable)) constantOf(t, variable);
  else typeOf(t, variable);
}

function typeName(variable: Variable): string {
  switch (variable.kind) {
    case 'constant':
    case 'symbolic':
      return typeof variable.value;
    case 'scalar':
      return variable.type;
    case 'text':
      return 'string';
    case 'function':
    case 'closure':
    case 'class':
    case 'bound':
      return 'function';
    default:
      return 'object';
  }
}

/** Returns whether the value is null or undefined. If it is neither, its exact value isn't guarded. */
export function isNullish(t: Tracer, value: Variable): boolean {
  const variable = specialized(value);
  if (variable.kind === 'symbolic') {
    guardNumbers(t, variable);
    return false;
  }
  if (variable.kind === 'text' || variable.kind === 'scalar') return false;
  if (variable.kind !== 'constant') {
    truthiness(t, variable);
    return false;
  }
  if (variable.value === null || variable.value === undefined) {
    constantOf(t, variable);
    return true;
  }
  guardDefined(t, variable);
  return false;
}

export function isUndefined(t: Tracer, value: Variable): boolean {
  const variable = specialized(value);
  if (variable.kind === 'constant' && variable.value === null) constantOf(t, variable);
  return isNullish(t, variable) && (variable as ConstantVariable).value === undefined;
}

export function isNull(t: Tracer, variable: Variable): boolean {
  return isNullish(t, variable) && (variable as ConstantVariable).value === null;
}

function guardDefined(t: Tracer, { source }: ConstantVariable): void {
  if (source) t.guard(`defined ${sourceKey(source)}`, { kind: 'defined', source });
}

/** Guards that an object or function remains one. */
export function guardObject(t: Tracer, object: Variable): void {
  if (typeOf(t, object) === 'object') truthiness(t, object);
}

export function isInitialized(t: Tracer, value: Variable): boolean {
  const variable = specialized(value);
  if (variable.kind === 'uninitialized') return false;
  const source = sourceOf(variable);
  if (source && mayBeUninitialized(source)) {
    t.guard(`initialized ${sourceKey(source)}`, { kind: 'initialized', source });
  }
  return true;
}

/** Only registers and cells can contain the marker of an uninitialized variable. */
function mayBeUninitialized(source: Source): boolean {
  const { kind } = source.kind === 'property' ? source.base : source;
  return kind === 'register' || kind === 'outerCell' || kind === 'closureCell';
}

/** `===` of two non-primitive values. */
export function isSame(t: Tracer, a: Variable, b: Variable): boolean {
  const [x, y] = [existing(a), existing(b)];
  // A value created in the trace is identical only to itself.
  if (!x || !y) {
    if (a !== b && mayBeOne(a, b)) {
      expectIdentity(a);
      expectIdentity(b);
    }
    return a === b;
  }
  const same = x.value === y.value;
  const [source, other] = x.source ? [x.source, y] : [y.source, x];
  if (!source) return same;
  const where = other.source ?? { kind: 'held', value: other.value, name: nameOf(other.value) };
  const key = `same ${sourceKey(source)} ${sourceKey(where)}`;
  t.guard(key, { kind: 'same', source, other: where, same });
  return same;
}

export function guardIdentity(
  t: Tracer,
  { source, value }: FunctionVariable | ObjectVariable,
): void {
  if (source) t.guard(`identity ${sourceKey(source)}`, { kind: 'identity', source, value });
}

/** Whether two values may be the same. An element of which only the parts are known may be a pre-existing object. */
const mayBeOne = (a: Variable, b: Variable): boolean =>
  a.kind === 'tensor' ? b.kind === 'tensor' : structures.has(a.kind) && structures.has(b.kind);

const structures: ReadonlySet<Variable['kind']> = new Set(['newArray', 'newObject', 'object']);

/** Guards a change to make after the run: it must not run user code or throw. */
export function guardChange(t: Tracer, source: Source, change: Change, key: string | symbol): void {
  const guard = { kind: 'change', source, change, key } as const;
  t.guard(`${change} ${sourceKey(source)} ${keyText(key)}`, guard);
}

interface PreexistingObject {
  readonly value: object;
  readonly source: Source | null;
}

/** Returns the object of a pre-existing value. */
function existing(variable: Variable): PreexistingObject | undefined {
  switch (variable.kind) {
    case 'tensor':
      return variable.actual ? { value: variable.actual, source: variable.source } : undefined;
    case 'object':
    case 'function':
      return variable;
    case 'newArray':
    case 'newCollection':
      return variable.outer;
    default:
      return undefined;
  }
}

function nameOf(value: object): string {
  return (typeof value === 'function' && plainName(value)) || 'a known object';
}

export function sourceOf(variable: Variable): Source | null {
  return owns(variable, 'source') ? variable.source : null;
}

/** Returns the device that a variable holds, on which the trace then depends. */
export function deviceOf(t: Tracer, variable: Variable): Device | undefined {
  // The same test as in `deviceGuard`.
  if (variable.kind !== 'object' || !('allocator' in variable.value)) return undefined;
  const { source, value } = variable;
  t.guard(`identity ${sourceKey(source)}`, { kind: 'identity', source, value });
  return value as Device;
}

/** Returns the device that is passed to the tensor API. Breaks the graph at any other object. */
export function passedDevice(t: Tracer, variable: Variable): Device {
  const device = deviceOf(t, variable);
  if (device) return device;
  throw new GraphBreak('framework-call', `${kindName(variable)} is passed to tostatic`);
}
