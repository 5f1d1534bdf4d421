/** Accepts PyTorch's arguments by position or by name: `new nn.Softplus(2, 1)`, `new nn.Softplus({ threshold: 1 })`. */

import { expectOptions, givenBothWays, type OptionKinds } from '../options/expect-options.ts';
import { isTensor } from '../options/is-tensor.ts';

/** The object with all arguments by name, which may be passed as the only argument. */
type ByName<First> = Exclude<
  Extract<First, object>,
  readonly unknown[] | ((...args: never[]) => unknown)
>;

/**
 * Returns the arguments by name; omitted ones are undefined. `kinds` are in positional order. Throws ArgumentError for
 * unknown names, for values that their kinds don't accept, and for arguments passed both ways.
 */
export function argumentsOf<First>(
  owner: string,
  kinds: OptionKinds<ByName<First>>,
  first: First,
  ...others: readonly unknown[]
): ByName<First> {
  const args = [first, ...others];
  // Captures follow this function into a constructor, but not into `canBeOptions`.
  const isByName =
    typeof first === 'object' && first !== null && !Array.isArray(first) && !isTensor(first);
  const other = others.find((each) => each !== undefined);
  if (isByName && other !== undefined) throw givenBothWays(owner, other, Object.keys(kinds));
  const byName = isByName
    ? first
    : Object.fromEntries(Object.keys(kinds).map((name, i) => [name, args[i]]));
  expectOptions(owner, byName as ByName<First>, kinds);
  return byName as ByName<First>;
}
