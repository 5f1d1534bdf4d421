/** Operators on a union whose result follows from its tag. */

import type { Tracer } from '../../state/tracer.ts';
import { constantOf, isNullish, truthiness, typeOf } from '../../state/value-guards.ts';
import { UnionMet } from '../../variables/unions.ts';
import {
  type DeviceScalar,
  known,
  type UnionVariable,
  type Variable,
} from '../../variables/variable.ts';
import { selectedBy } from './union.ts';

/** The value of a condition: a device scalar to decide on, or a known boolean. */
export type Condition = DeviceScalar | boolean;

const hasKnownTruth = ({ kind }: Variable): boolean => kind !== 'scalar' && kind !== 'union';

/** Returns whether the value is truthy. Throws UnionMet if that depends on an option's data. */
export function truthOf(t: Tracer, variable: Variable): Condition {
  if (variable.kind === 'scalar') return variable;
  if (variable.kind !== 'union') return truthiness(t, variable);
  return tested(t, variable, (option) => truthiness(t, option));
}

/** `=== undefined`, and with `orNull` also `=== null`. */
export function missingOf(t: Tracer, variable: Variable, orNull: boolean): Condition {
  const test = (value: Variable) => {
    if (value.kind === 'scalar' || !isNullish(t, value)) return false;
    return orNull || constantOf(t, value) === undefined;
  };
  return variable.kind === 'union' ? tested(t, variable, test) : test(variable);
}

function tested(t: Tracer, union: UnionVariable, test: (option: Variable) => boolean): Condition {
  const told = ask(t, union, test);
  return told.kind === 'scalar' ? told : truthiness(t, told);
}

/** Returns a boolean that follows from the union's chosen option. */
export function ask(
  t: Tracer,
  union: UnionVariable,
  test: (option: Variable) => boolean,
): Variable {
  const { options, selector } = union;
  // The truth depends on an option's data, so the instruction is traced for each option.
  if (!options.every(hasKnownTruth)) throw new UnionMet(union);
  return selectedBy(t, selector, options.map(test));
}

/** `typeof union` */
export function typeOfUnion(t: Tracer, { options, selector, from }: UnionVariable): Variable {
  const types = options.map((option) => known(typeOf(t, option)));
  if (types.every(({ value }) => value === types[0]!.value)) return types[0]!;
  return { kind: 'union', selector, options: types, from };
}
