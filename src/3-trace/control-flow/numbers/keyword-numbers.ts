/** Device scalars passed by PyTorch keyword: `x.add(y, { alpha: n })`. */

import * as inPlace from '../../../../runtime/ops/in-place/in-place.ts';
import * as pointwiseInPlace from '../../../../runtime/ops/in-place/pointwise-in-place.ts';
import * as pointwise from '../../../../runtime/ops/pointwise/pointwise.ts';
import { resolved } from '../../variables/unions.ts';
import {
  type DeviceScalar,
  known,
  type NewObjectVariable,
  type Variable,
} from '../../variables/variable.ts';
import { methodNamed } from './scalar-arguments.ts';

/** Keywords that functions also accept by position, in positional order. */
const keywords = new Map<unknown, readonly string[]>(
  (
    [
      [['alpha'], [pointwise.add, pointwise.sub, pointwise.rsub]],
      [['alpha'], [inPlace.add_, pointwiseInPlace.sub_]],
      [['value'], [pointwise.addcmul, pointwise.addcdiv, inPlace.addcmul_, inPlace.addcdiv_]],
      [
        ['min', 'max'],
        [pointwise.clamp, pointwise.clip, pointwiseInPlace.clamp_],
      ],
    ] as const
  ).flatMap(([names, functions]) =>
    functions.flatMap((fn): [unknown, readonly string[]][] => [
      [fn, names],
      [methodNamed(fn.name), names],
    ]),
  ),
);

/** Returns the arguments, with data-dependent keyword numbers moved to their positions. */
export function byPosition(fn: unknown, args: readonly Variable[]): readonly Variable[] {
  const names = keywords.get(fn);
  const last = args.at(-1);
  if (!names || last === undefined || !numberAmong(last)) return args;
  const { entries } = resolved(last) as NewObjectVariable;
  if ([...entries.keys()].some((key) => !names.includes(key))) return args;
  return [...args.slice(0, -1), ...names.map((name) => entries.get(name) ?? known(null))];
}

/** Returns a data-dependent number among the values of an options object. */
export function numberAmong(variable: Variable): DeviceScalar | undefined {
  const options = resolved(variable);
  if (options.kind !== 'newObject' || options.prototype !== undefined) return undefined;
  return [...options.entries.values()]
    .map(resolved)
    .find((value): value is DeviceScalar => value.kind === 'scalar');
}
