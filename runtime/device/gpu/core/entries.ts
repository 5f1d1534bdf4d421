import { sizeOf } from '../../../spec/shape.ts';
import type { Attrs } from '../../kernel-op.ts';
import type { TensorMeta } from '../../tensor-meta.ts';

/** A contiguous tensor as [outer, rows, inner], whose rows an index tensor [dimensions, selected] selects. */
export interface Entries {
  readonly outer: number;
  /** The sizes of the indexed dimensions. */
  readonly sizes: readonly number[];
  readonly rows: number;
  readonly inner: number;
  readonly chosen: number;
  /** Whether −1 selects the last row. */
  readonly wraps: boolean;
}

export function entriesOf(whole: TensorMeta, index: TensorMeta, { dim, wraps }: Attrs): Entries {
  const at = dim as number;
  const [count, ...chosen] = index.shape as [number, ...number[]];
  const sizes = whole.shape.slice(at, at + count);
  return {
    outer: sizeOf(whole.shape.slice(0, at)),
    sizes,
    rows: sizeOf(sizes),
    inner: sizeOf(whole.shape.slice(at + count)),
    chosen: sizeOf(chosen),
    wraps: wraps === true,
  };
}
