import type { InputSpec } from '../../runtime/input-spec/spec.ts';
import type { Captured } from '../dispatch/captured-function.ts';
import type { GuardedEntry } from '../dispatch/entry.ts';
import { SizedEntries } from '../dispatch/sized-entries.ts';
import type { ShapeBounds } from '../guards/shape-bounds.ts';
import type { SourceNames } from '../guards/source.ts';
import type { MemoryOptions } from '../programs/memory-options.ts';
import type { Resized } from '../traces/trace-result.ts';
import type { Frame } from '../vm/bytecode/frame.ts';

/** A captured function with everything compiled for it. */
export interface CompiledFunction {
  readonly name: string;
  readonly inputSpec: readonly InputSpec[] | null;
  readonly entries: readonly GuardedEntry[];
  /** Traces that also serve sizes of no call so far. */
  readonly sized: readonly { readonly resized: Resized; readonly names: SourceNames }[];
  readonly memory: MemoryOptions;
  readonly bounds: ShapeBounds;
  /** The frame of a call without arguments. */
  readonly frames: readonly Frame[];
  /** The number of arguments fixed by `bind`. */
  readonly bound: number;
}

/** Returns the entries compiled for calls on this receiver; null if the function can't be captured. */
export function compiledFor(captured: Captured, receiver: unknown): CompiledFunction | null {
  const start = captured.startOf(receiver, []);
  if (!start) return null;
  const { point, frames } = start;
  return {
    name: captured.name,
    inputSpec: captured.options.inputSpec ?? null,
    entries: point.entries.flatMap(({ compiled }) => compiled),
    sized: point.entries.flatMap((entry) =>
      entry instanceof SizedEntries ? [{ resized: entry.resized, names: entry.names }] : [],
    ),
    memory: captured.memory,
    bounds: point.history.bounds,
    frames,
    bound: captured.code!.boundArgs.length,
  };
}
