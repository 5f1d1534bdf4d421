import { asTensor, tensor } from '../../../../runtime/ops/core/create.ts';
import {
  isChangingBoolean,
  numberOfBoolean,
} from '../../control-flow/numbers/changing-booleans.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf } from '../../state/value-guards.ts';
import { arrayElements, asArray } from '../../values/arrays.ts';
import { plainEntries } from '../../values/property-keys.ts';
import { outerTensors } from '../../values/varying-array.ts';
import { specialized } from '../../variables/unions.ts';
import { known, newArray, undefinedVariable, type Variable } from '../../variables/variable.ts';

/**
 * Returns the arguments of `tensor(data, options)` with booleans that differ between calls as numbers, in the dtype
 * that the booleans have without options.
 */
export function booleansAsNumbers(
  t: Tracer,
  fn: unknown,
  args: readonly Variable[],
): readonly Variable[] {
  const [data, options = undefinedVariable, ...others] = args;
  if (!data || (fn !== tensor && fn !== asTensor)) return args;
  const leaves: Variable[] = [];
  if (!collect(t, data, leaves) || !leaves.some((leaf) => isChangingBoolean(t, leaf))) return args;
  const entries = optionsOf(t, options);
  if (!entries) return args;
  const dtype = entries.get('dtype');
  const isNamed = dtype !== undefined && constantOf(t, dtype) !== undefined;
  if (!isNamed && leaves.every(isBoolean)) entries.set('dtype', known('bool'));
  return [asNumbers(t, data), { kind: 'newObject', entries }, ...others];
}

/** Collects the elements of nested arrays; returns whether all of them are known. */
function collect(t: Tracer, variable: Variable, leaves: Variable[]): boolean {
  const data = specialized(variable);
  const array = data.kind === 'newArray' || data.kind === 'object' ? asArray(t, data) : undefined;
  if (!array) return leaves.push(data) > 0;
  if ((array.kind === 'newArray' && array.growable) || outerTensors(t, array)) return false;
  return arrayElements(t, array).every((element) => collect(t, element, leaves));
}

function optionsOf(t: Tracer, variable: Variable): Map<string, Variable> | undefined {
  const options = specialized(variable);
  if (options.kind === 'constant') {
    return constantOf(t, options) === undefined ? new Map() : undefined;
  }
  if (options.kind !== 'object' && options.kind !== 'newObject') return undefined;
  return new Map(plainEntries(t, options).map(({ key, value }) => [key, value]));
}

const isBoolean = (leaf: Variable): boolean =>
  (leaf.kind === 'constant' || leaf.kind === 'symbolic') && typeof leaf.value === 'boolean';

function asNumbers(t: Tracer, variable: Variable): Variable {
  const data = specialized(variable);
  const array = data.kind === 'newArray' || data.kind === 'object' ? asArray(t, data) : undefined;
  if (array) return newArray(arrayElements(t, array).map((element) => asNumbers(t, element)));
  return numberOfBoolean(t, data) ?? data;
}
