/** Checks of options and sizes that modules and optimizers make, performed on what the trace knows. */

import type { OptionKind } from '../../../../runtime/options/option-kinds.ts';
import * as kinds from '../../../../runtime/options/option-kinds.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import { constantOf, isUndefined } from '../../state/facts.ts';
import type { Tracer } from '../../state/tracer.ts';
import { plainValues } from '../../values/objects/host-objects.ts';
import { readProperty } from '../../values/properties.ts';
import { plainKeys } from '../../values/property-keys.ts';
import { isCallable, isPrimitiveVariable } from '../../values/to-primitive.ts';
import { specialized } from '../../variables/unions.ts';
import { known, undefinedVariable, type Variable } from '../../variables/variable.ts';

const rejected = () => new GraphBreak('throw', 'a module rejects its input');

/** `expectOptions(owner, options, kinds)`: what it rejects is left to the native function. */
export function traceExpectOptions(
  t: Tracer,
  _receiver: Variable,
  [, given = undefinedVariable, accepted = undefinedVariable]: readonly Variable[],
): Variable {
  const options = specialized(given);
  if (isPrimitiveVariable(options)) throw rejected();
  for (const name of plainKeys(t, options)) {
    const value = specialized(readProperty(t, options, name));
    const kind = specialized(readProperty(t, accepted, name));
    if (isPrimitiveVariable(kind)) throw rejected();
    if (kind.kind !== 'object') throw new GraphBreak('framework-call', `the kind of ${name}`);
    if (isPrimitiveVariable(value) && isUndefined(t, value)) continue;
    if (!(kind.value as OptionKind).accepts(knownValue(t, value))) throw rejected();
  }
  return undefinedVariable;
}

/** Kinds look at primitives, and at arrays and plain objects of them; otherwise at what sort of value it is. */
function knownValue(t: Tracer, value: Variable): unknown {
  if (isPrimitiveVariable(value)) return constantOf(t, value);
  const plain = plainValues(t, [value]);
  if (plain) return plain[0];
  if (isCallable(value)) return () => {};
  if (value.kind === 'object') return value.value;
  if (value.kind === 'newObject') return {};
  throw new GraphBreak('framework-call', `an option that is a ${value.kind}`);
}

/** A check of plain data that returns nothing: run on what the trace knows, which is guarded by its value. */
export function traceCheck(check: (...args: never[]) => void) {
  return (t: Tracer, _receiver: Variable, args: readonly Variable[]): Variable => {
    const values = plainValues(t, args);
    if (!values) throw new GraphBreak('framework-call', `${check.name}() of what is not known`);
    try {
      check(...(values as never[]));
    } catch {
      throw rejected();
    }
    return undefinedVariable;
  };
}

type Performed = (t: Tracer, receiver: Variable, args: readonly Variable[]) => Variable;

/** `kind.accepts(value)`, of the kinds that have a name. */
export const kindTests: readonly (readonly [test: unknown, performed: Performed])[] = Object.values(
  kinds,
).flatMap((kind: unknown) => {
  if (typeof kind !== 'object' || kind === null) return [];
  const { accepts } = kind as OptionKind;
  const test: Performed = (t, _receiver, [value = undefinedVariable]) =>
    known(accepts(knownValue(t, specialized(value))));
  return [[accepts, test] as const];
});
