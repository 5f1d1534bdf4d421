/** What `backward()` and `grad()` are given beside tensors to walk back from. */

import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { bind1 } from '../../../runtime/ops/core/bind.ts';
import { aliasOp } from '../../../runtime/program/alias-op.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { constantOf } from '../state/facts.ts';
import type { Tracer } from '../state/tracer.ts';
import { readProperty } from '../values/properties.ts';
import type { Variable } from '../variables/variable.ts';

export function seedOf(t: Tracer, variable: Variable): Tensor | null {
  if (variable.kind === 'tensor') return t.use(variable);
  const value = constantOf(t, variable);
  if (value === null || value === undefined) return null;
  throw new GraphBreak('throw', 'a gradient that is no tensor');
}

export function isSet(t: Tracer, options: Variable | undefined, key: string): boolean | undefined {
  if (!options || (options.kind === 'constant' && constantOf(t, options) === undefined)) {
    return undefined;
  }
  const value = constantOf(t, readProperty(t, options, key));
  return value === undefined ? undefined : Boolean(value);
}

/** A value of its own, so that what is computed from it has no part in its history. */
export function seedValue(seed: Tensor | null, createGraph: boolean): Tensor | null {
  if (!seed?.requiresGrad || createGraph) return seed;
  return noGrad(() => bind1(aliasOp, [seed]));
}
