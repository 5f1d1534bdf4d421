import { GraphBreak } from '../../traces/graph-break.ts';
import type { TensorVariable, Variable } from '../variables/variable.ts';

/** The tensor that autograd is asked about; anything else is an error in eager execution. */
export function expectTensor(variable: Variable | undefined, use: string): TensorVariable {
  if (variable?.kind === 'tensor') return variable;
  if (variable?.kind === 'dynamic') {
    throw new GraphBreak('unbacked-shape', `${use}() of a tensor of data-dependent shape`);
  }
  throw new GraphBreak('throw', `${use}() of something other than a tensor`);
}
