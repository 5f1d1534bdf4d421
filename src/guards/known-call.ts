import type { Frame } from '../vm/bytecode/frame.ts';
import { PlainReads } from './plain-reads.ts';
import type { Source } from './source.ts';

/** Returns what reads a location in one call; undefined behind a getter or a Proxy, so that no user code runs. */
export function readerOfCall(frames: readonly Frame[]): (source: Source) => unknown {
  const reads = new PlainReads();
  return (source) => {
    try {
      return reads.reader(source, true)(frames);
    } catch {
      return undefined;
    }
  };
}
