import { GraphBreak } from '../../traces/graph-break.ts';
import type { TensorVariable, Variable } from '../variables/variable.ts';

/** Returns the tensor passed to an autograd function. Eager execution rejects anything else. */
export function expectTensor(variable: Variable | undefined, use: string): TensorVariable {
  if (variable?.kind === 'tensor') return variable;
  if (variable?.kind === 'dynamic') {
    throw new GraphBreak('unbacked-shape', `${use}() of a tensor of data-dependent shape`);
  }
  throw new GraphBreak('throw', `${use}() of something other than a tensor`);
}
