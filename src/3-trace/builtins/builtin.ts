import type { Tracer } from '../state/tracer.ts';
import type { Variable } from '../variables/variable.ts';

export type HostFunction = (...args: never[]) => unknown;

/** A host function on variables; undefined: not for these operands. A break takes everything back. */
export type Builtin = (
  t: Tracer,
  receiver: Variable,
  args: readonly Variable[],
) => Variable | undefined;

export type BuiltinTable = readonly (readonly [HostFunction, Builtin])[];
