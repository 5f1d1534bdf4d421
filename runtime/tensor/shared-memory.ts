import type { Holder } from '../device/holder.ts';
import type { Tensor } from './tensor.ts';

let calls = 0;

/** Returns the holders shared by several of the tensors, or undefined if there are none. */
function sharedMemory(tensors: readonly Tensor[]): readonly Holder[] | undefined {
  const call = ++calls;
  let shared: Holder[] | undefined;
  for (const { holder } of tensors) {
    if (!holder) continue;
    if (holder.seen === call) {
      shared ??= [];
      shared.push(holder);
    }
    holder.seen = call;
  }
  return shared;
}

/** Returns the index of a `written` tensor that shares its memory with another tensor, or −1. */
export function sharedWritten(tensors: readonly Tensor[], written: readonly number[]): number {
  const shared = sharedMemory(tensors);
  return shared ? (written.find((i) => shared.includes(tensors[i]!.holder!)) ?? -1) : -1;
}
