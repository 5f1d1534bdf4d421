import { GraphBreak } from '../../traces/graph-break.ts';
import type { TensorVariable, Variable } from '../variables/variable.ts';

/** What autograd is asked about: eagerly an error for anything else than a tensor. */
export function expectTensor(variable: Variable | undefined, use: string): TensorVariable {
  if (variable?.kind === 'tensor') return variable;
  if (variable?.kind === 'dynamic') {
    throw new GraphBreak('unbacked-shape', `${use}() of a tensor whose shape only the run knows`);
  }
  throw new GraphBreak('throw', `${use}() of no tensor`);
}
