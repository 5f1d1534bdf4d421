/** The arguments of `backward()` and `grad()` other than the roots of the walk. */

import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { bind1 } from '../../../runtime/ops/core/bind.ts';
import { aliasOp } from '../../../runtime/program/alias-op.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf } from '../state/value-guards.ts';
import { readProperty } from '../values/properties.ts';
import { plainKeys } from '../values/property-keys.ts';
import { specialized } from '../variables/unions.ts';
import type { Variable } from '../variables/variable.ts';

export function seedOf(t: Tracer, variable: Variable): Tensor | null {
  if (variable.kind === 'tensor') return t.use(variable);
  const value = constantOf(t, variable);
  if (value === null || value === undefined) return null;
  throw new GraphBreak('throw', 'a gradient that is not a tensor');
}

/**
 * Returns the flags that are set; the rest have eager execution's defaults. `others`: other option names. Invalid
 * options are left to eager execution.
 */
export function flagsOf<F extends string>(
  t: Tracer,
  owner: string,
  options: Variable | undefined,
  flags: readonly F[],
  others: readonly string[] = [],
): { readonly [Name in F]?: boolean } {
  const argument = options && specialized(options);
  if (!argument || (argument.kind === 'constant' && constantOf(t, argument) === undefined))
    return {};
  if (argument.kind === 'constant')
    throw new GraphBreak('throw', `${owner}() of options that are not an object`);
  const found: { [Name in F]?: boolean } = {};
  for (const key of plainKeys(t, argument)) {
    if (others.includes(key)) continue;
    const name = flags.find((flag) => flag === key);
    const value = name && constantOf(t, readProperty(t, argument, name));
    if (!name || (value !== undefined && typeof value !== 'boolean')) {
      throw new GraphBreak('throw', `${owner}() with the option ${key}`);
    }
    if (value !== undefined) found[name] = value;
  }
  return found;
}

/** Returns the seed without its autograd history, so that the gradients computed from it record none. */
export function seedValue(seed: Tensor | null, createGraph: boolean): Tensor | null {
  if (!seed?.requiresGrad || createGraph) return seed;
  return noGrad(() => bind1(aliasOp, [seed]));
}
