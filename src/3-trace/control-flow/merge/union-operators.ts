/** Operators on a union whose result doesn't depend on which member it is. */

import { constantOf, isNullish, truthiness, typeOf } from '../../state/facts.ts';
import type { Tracer } from '../../state/tracer.ts';
import { UnionMet } from '../../variables/unions.ts';
import {
  type DeviceScalar,
  known,
  type UnionVariable,
  type Variable,
} from '../../variables/variable.ts';
import { toldBy } from './union.ts';

/** The value of a condition: a device scalar to decide on, or known. */
export type Condition = DeviceScalar | boolean;

const hasKnownTruth = ({ kind }: Variable): boolean => kind !== 'scalar' && kind !== 'union';

/** Whether the value counts as true; Throws UnionMet where the options' own values matter. */
export function truthOf(t: Tracer, variable: Variable): Condition {
  if (variable.kind === 'scalar') return variable;
  if (variable.kind !== 'union') return truthiness(t, variable);
  return tested(t, variable, (option) => truthiness(t, option));
}

/** `=== undefined` and, where `orNull`, `=== null`. */
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

/** A boolean that follows from which option it is. */
export function ask(
  t: Tracer,
  union: UnionVariable,
  test: (option: Variable) => boolean,
): Variable {
  const { options, selector } = union;
  // The number itself matters: the instruction is followed for each option.
  if (!options.every(hasKnownTruth)) throw new UnionMet(union);
  return toldBy(t, selector, options.map(test));
}

/** `typeof union` */
export function typeOfUnion(t: Tracer, { options, selector, from }: UnionVariable): Variable {
  const types = options.map((option) => known(typeOf(t, option)));
  if (types.every(({ value }) => value === types[0]!.value)) return types[0]!;
  return { kind: 'union', selector, options: types, from };
}
