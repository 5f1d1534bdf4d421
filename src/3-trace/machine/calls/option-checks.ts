/** Checks of options and sizes by modules and optimizers, performed on variables. */

import { scalarFunctions } from '../../../../runtime/ops/numbers/scalar-functions.ts';
import {
  expectList,
  expectOptional,
  expectTensorList,
  expectTensors,
  shapeOf,
} from '../../../../runtime/ops/record/expect-tensors.ts';
import {
  expectFlag,
  expectNumber,
  expectWhole,
  expectWithin,
} from '../../../../runtime/ops/record/positional.ts';
import { expectFunction } from '../../../../runtime/options/expect-arguments.ts';
import { expectNoMore } from '../../../../runtime/options/expect-options.ts';
import type { NumberBound, OptionKind } from '../../../../runtime/options/option-kinds.ts';
import * as kinds from '../../../../runtime/options/option-kinds.ts';
import { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import { check } from '../../control-flow/numbers/check.ts';
import { scalarBinary } from '../../control-flow/numbers/scalars.ts';
import { isOfSizes } from '../../inputs/symbolic.ts';
import { expectNoCall, guardValue } from '../../state/symbolic-guards.ts';
import type { Tracer } from '../../state/tracer.ts';
import {
  constantOf,
  guardIdentity,
  guardObject,
  isUndefined,
  sourceOf,
  typeOf,
} from '../../state/value-guards.ts';
import { expand } from '../../values/iterators.ts';
import { deferToRun } from '../../values/numbers.ts';
import { plainValues } from '../../values/objects/host-objects.ts';
import { readProperty } from '../../values/properties.ts';
import { plainKeys } from '../../values/property-keys.ts';
import { isCallable, isPrimitiveVariable } from '../../values/to-primitive.ts';
import { kindName } from '../../variables/kind-names.ts';
import { specialized } from '../../variables/unions.ts';
import {
  known,
  type NewObjectVariable,
  prototypeOf,
  undefinedVariable,
  type Variable,
} from '../../variables/variable.ts';
import { tracedAsync } from './traced-async.ts';

type TracedImplementation = (t: Tracer, receiver: Variable, args: readonly Variable[]) => Variable;

const rejected = () => new GraphBreak('throw', 'a module rejects its input');

/**
 * `expectOptions(owner, options, kinds)`. Rejected options are left to the native function, which throws the
 * error.
 */
export function traceExpectOptions(
  t: Tracer,
  _receiver: Variable,
  [, object = undefinedVariable, accepted = undefinedVariable]: readonly Variable[],
): Variable {
  const options = specialized(object);
  if (isPrimitiveVariable(options) || options.kind === 'tensor' || isArray(options)) {
    throw rejected();
  }
  for (const name of plainKeys(t, options)) {
    const value = specialized(readProperty(t, options, name));
    const kind = specialized(readProperty(t, accepted, name));
    if (isPrimitiveVariable(kind)) throw rejected();
    if (kind.kind !== 'object') throw new GraphBreak('framework-call', `the kind of ${name}`);
    if (isPrimitiveVariable(value) && isUndefined(t, value)) continue;
    if (!isAccepted(t, kind.value as OptionKind, value)) throw rejected();
  }
  return undefinedVariable;
}

/** `expectArguments(owner, actual, kinds)`: the same for positional arguments. */
export function traceExpectArguments(
  t: Tracer,
  _receiver: Variable,
  [, actual = undefinedVariable, accepted = undefinedVariable]: readonly Variable[],
): Variable {
  for (const name of plainKeys(t, accepted)) {
    const value = specialized(readProperty(t, actual, name));
    const kind = specialized(readProperty(t, accepted, name));
    if (isPrimitiveVariable(kind)) throw rejected();
    if (kind.kind !== 'object') throw new GraphBreak('framework-call', `the kind of ${name}`);
    // The object's contents are not checked, so they need no guard.
    if (kind.value === kinds.anObject && !isPrimitiveVariable(value) && !isCallable(value)) {
      guardSort(t, value);
      continue;
    }
    if (!isAccepted(t, kind.value as OptionKind, value)) throw rejected();
  }
  return undefinedVariable;
}

/** Passes if `holds` is true for each checked value. A rejected value is left to the native function. */
const traceEach =
  (holds: (t: Tracer, value: Variable) => boolean, from = 1) =>
  (t: Tracer, _receiver: Variable, args: readonly Variable[]): Variable => {
    if (!args.slice(from).every((value) => holds(t, specialized(value)))) throw rejected();
    return undefinedVariable;
  };

export const mayBeTensor = (_t: Tracer, { kind }: Variable): boolean =>
  kind === 'tensor' || kind === 'dynamic' || kind === 'union';

const isMissing = (t: Tracer, value: Variable): boolean =>
  isUndefined(t, value) || (value.kind === 'constant' && value.value === null);

const isArray = (value: Variable): boolean =>
  value.kind === 'object' ? Array.isArray(value.value) : value.kind === 'newArray';

const isList = (_t: Tracer, value: Variable): boolean => isArray(value) || value.kind === 'union';

/** Checks and guards only the type: a number that changes remains a number. */
const hasType =
  (type: 'number' | 'boolean') =>
  (t: Tracer, value: Variable): boolean =>
    isPrimitiveVariable(value) && typeOf(t, value) === type;

function isWholeNumber(t: Tracer, value: Variable): boolean {
  if (value.kind === 'constant') return Number.isInteger(constantOf(t, value));
  if (value.kind === 'symbolic' && !isOfSizes(value)) {
    expectNoCall(t, value.expr);
    const expr = { kind: 'apply', fn: 'Number.isInteger', args: [value.expr] } as const;
    const isWhole = Number.isInteger(value.value);
    return guardValue(t, { kind: 'symbolic', expr, value: isWhole, source: null }) === true;
  }
  return hasType('number')(t, value);
}

function areTensors(t: Tracer, value: Variable): boolean {
  if (value.kind !== 'newArray' || value.growable) return isList(t, value);
  return value.elements.every((each) => mayBeTensor(t, specialized(each)));
}

/** Checks of operands and positional arguments in layers and op functions. */
export const operandChecks: readonly (readonly [
  check: unknown,
  performed: TracedImplementation,
])[] = [
  [expectTensors, traceEach(mayBeTensor)],
  [expectOptional, traceEach((t, operand) => isMissing(t, operand) || mayBeTensor(t, operand))],
  [expectTensorList, traceEach(areTensors)],
  [expectList, traceEach(isList, 2)],
  [
    expectNoMore,
    traceEach((t, surplus) => expand(t, surplus).every((each) => isUndefined(t, each))),
  ],
  [expectFunction, traceEach((_t, callback) => isCallable(callback))],
  [expectNumber, traceEach(hasType('number'), 2)],
  [
    expectWithin,
    (t, _receiver, [, , value = undefinedVariable, least = known(0), most]) => {
      const isWithin = hasType('number')(t, value) && compares(t, '<=', least, value);
      if (!isWithin || (most && !compares(t, '<=', value, most))) throw rejected();
      return undefinedVariable;
    },
  ],
  [expectWhole, traceEach(isWholeNumber, 2)],
  [expectFlag, traceEach(hasType('boolean'), 2)],
  [
    shapeOf,
    (t, receiver, [name, operand = undefinedVariable]) => {
      traceEach(mayBeTensor)(t, receiver, [name!, operand]);
      return readProperty(t, operand, 'shape');
    },
  ],
];

/** Guards that later calls also pass a tensor, a function or an object. */
function guardSort(t: Tracer, value: Variable): void {
  const source = sourceOf(value);
  if (!source) return;
  if (value.kind === 'tensor') {
    constantOf(t, t.read({ kind: 'instanceOf', base: source, type: Tensor as never }, true));
    return;
  }
  guardObject(t, value);
}

/** Returns whether a kind accepts a value. For a number that differs between calls, only its bounds are guarded. */
function isAccepted(t: Tracer, kind: OptionKind, value: Variable): boolean {
  const { bounds } = kind;
  const isChanging = value.kind === 'symbolic' || value.kind === 'scalar';
  if (!bounds || !isChanging || typeOf(t, value) !== 'number') {
    return kind.accepts(knownValue(t, value));
  }
  return bounds.every(([comparison, bound]) => compares(t, comparison, value, known(bound)));
}

/** Returns whether two numbers compare as expected, and guards that or checks it in the program. */
function compares(t: Tracer, comparison: NumberBound[0], left: Variable, right: Variable): boolean {
  const operands = [left, right] as const;
  const holds = scalarBinary(t, comparison, ...operands) ?? deferToRun(t, comparison, operands);
  if (!holds) {
    const [a, b] = operands.map((each) => constantOf(t, each) as number);
    return scalarFunctions.get(comparison)!(a!, b!) === true;
  }
  if (holds.kind !== 'scalar') return constantOf(t, holds) === true;
  check(t, holds.tensor, true);
  return true;
}

/** Kinds test primitives, and arrays and plain objects of primitives; of other values they test only the type. */
function knownValue(t: Tracer, value: Variable): unknown {
  if (isPrimitiveVariable(value)) return constantOf(t, value);
  const plain = plainValues(t, [value]);
  if (plain) return plain[0];
  guardSort(t, value);
  if (isCallable(value)) return tracedAsync(value) ? async () => {} : () => {};
  if (value.kind === 'object') return value.value;
  if (value.kind === 'newObject') return instanceLike(t, value);
  if (value.kind === 'tensor') return value.actual ?? { holderFor: null };
  if (value.kind === 'newArray')
    return value.elements.map((each) => knownValue(t, specialized(each)));
  throw new GraphBreak('framework-call', `an option that is ${kindName(value)}`);
}

/** Returns an empty object with the prototype of `made`: a kind may ask for an instance of a class. */
function instanceLike(t: Tracer, made: NewObjectVariable): object {
  const prototype = prototypeOf(made);
  if (prototype === undefined) return {};
  if (prototype === null) return Object.create(null);
  if (prototype.kind === 'newObject') return Object.create(instanceLike(t, prototype));
  // Another call may make it with another prototype.
  guardIdentity(t, prototype);
  return Object.create(prototype.value as object);
}

/** A check of plain data that returns nothing. It runs on the known values, which are guarded. */
export function traceCheck(check: (...args: never[]) => void) {
  return (t: Tracer, _receiver: Variable, args: readonly Variable[]): Variable => {
    const values = plainValues(t, args);
    if (!values)
      throw new GraphBreak(
        'framework-call',
        `${check.name}() with arguments that aren't known while tracing`,
      );
    try {
      check(...(values as never[]));
    } catch {
      throw rejected();
    }
    return undefinedVariable;
  };
}

/** `kind.accepts(value)` for named kinds. */
export const kindTests: readonly (readonly [test: unknown, performed: TracedImplementation])[] =
  Object.values(kinds).flatMap((kind: unknown) => {
    if (typeof kind !== 'object' || kind === null) return [];
    const { accepts } = kind as OptionKind;
    const test: TracedImplementation = (t, _receiver, [value = undefinedVariable]) =>
      known(isAccepted(t, kind as OptionKind, specialized(value)));
    return [[accepts, test] as const];
  });
