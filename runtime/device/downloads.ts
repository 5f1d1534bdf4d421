import type { TypedArray } from '../spec/dtype.ts';
import type { Device, Operand } from './device.ts';
import type { Holder } from './holder.ts';
import type { TensorMeta } from './tensor-meta.ts';

/** Data that was read ahead, and of which version of the memory. */
interface Download {
  readonly data: TypedArray;
  readonly version: number;
  readonly offset: number;
}

const downloads = new WeakMap<Holder, Download>();

/** Whether data of the device can only be read after an await, or before one only sometimes. */
export const isReadLater = ({ kind, expectLanded }: Device): boolean =>
  kind === 'gpu' || expectLanded !== undefined;

/**
 * Reads a tensor, so that a transfer right after can continue without waiting. Resolves immediately where nothing has to be
 * awaited.
 */
export async function downloadAhead(meta: TensorMeta, source: Operand): Promise<void> {
  const { holder, offset } = source;
  if (!holder || !isReadLater(meta.device)) return;
  const { version } = holder;
  const data = await meta.device.download(meta, source);
  downloads.set(holder, { data, version, offset });
}

/**
 * Returns, once, the elements of this operand that were read ahead; null if there are none, or the operand was
 * written since.
 */
export function downloaded({ holder, offset }: Operand): TypedArray | null {
  const found = holder && downloads.get(holder);
  if (!found) return null;
  downloads.delete(holder);
  return found.version === holder.version && found.offset === offset ? found.data : null;
}
