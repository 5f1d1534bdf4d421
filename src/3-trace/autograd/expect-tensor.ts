import { GraphBreak } from '../../traces/graph-break.ts';
import type { Tracer } from '../state/tracer.ts';
import type { TensorVariable, Variable } from '../variables/variable.ts';

/** Returns the tensor passed to an autograd function. Eager execution rejects anything else. */
export function expectTensor(variable: Variable | undefined, use: string): TensorVariable {
  if (variable?.kind === 'tensor') return variable;
  if (variable?.kind === 'dynamic') {
    throw new GraphBreak('unbacked-shape', `${use}() of a tensor of data-dependent shape`);
  }
  throw new GraphBreak('throw', `${use}() of something other than a tensor`);
}

/** Returns a tensor whose gradient `use()` requests. */
export function expectTarget(t: Tracer, variable: Variable | undefined, use: string) {
  const target = expectTensor(variable, use);
  if (target.actual) t.autograd.targets.add(target.actual);
  return target;
}
