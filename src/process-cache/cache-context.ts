import type { CodeOf } from '../3-trace/variables/code-of.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import type { Digest } from './code-print.ts';
import type { KnownObjects } from './known-objects.ts';

/** The surroundings of a trace in this process, where its objects are described and found. */
export interface CacheContext {
  readonly frames: readonly Frame[];
  readonly codeOf: CodeOf;
  readonly known: KnownObjects;
  readonly digest: Digest;
}
