import type { Tracer } from '../state/tracer.ts';
import type { Variable } from '../variables/variable.ts';

export type HostFunction = (...args: never[]) => unknown;

/**
 * Performs a host function on variables; undefined if it doesn't support these operands. A graph break rolls
 * everything back.
 */
export type Builtin = (
  t: Tracer,
  receiver: Variable,
  args: readonly Variable[],
) => Variable | undefined;

export type BuiltinTable = readonly (readonly [HostFunction, Builtin])[];
