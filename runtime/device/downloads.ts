import type { TypedArray } from '../spec/dtype.ts';
import type { Device, Operand } from './device.ts';
import type { Holder } from './holder.ts';
import type { TensorMeta } from './tensor-meta.ts';

/** Data read ahead, with the memory's version at that time. */
interface Download {
  readonly data: TypedArray;
  readonly version: number;
  readonly offset: number;
}

const downloads = new WeakMap<Holder, Download>();

/** Whether reading the device's data requires an await, always or sometimes. */
export const isReadLater = ({ kind, expectLanded }: Device): boolean =>
  kind === 'gpu' || expectLanded !== undefined;

/** Reads a tensor ahead of a transfer. Resolves immediately if nothing has to be awaited. */
export async function downloadAhead(meta: TensorMeta, source: Operand): Promise<void> {
  const { holder, offset } = source;
  if (!holder || !isReadLater(meta.device)) return;
  const { version } = holder;
  const data = await meta.device.download(meta, source);
  downloads.set(holder, { data, version, offset });
}

/** Returns the operand's elements that were read ahead, once; null if there are none or they were written since. */
export function downloaded({ holder, offset }: Operand): TypedArray | null {
  const found = holder && downloads.get(holder);
  if (!found) return null;
  downloads.delete(holder);
  return found.version === holder.version && found.offset === offset ? found.data : null;
}
