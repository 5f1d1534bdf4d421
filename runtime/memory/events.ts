/**
 * The single stream of memory events. Statistics, logs, timelines and the profiler are computed from it. Without a
 * listener no event is created: emitters check `events.active` first.
 */

import type { UserPosition } from '../errors/position.ts';
import { expectSync } from '../options/expect-arguments.ts';

export type MemoryEvent =
  | {
      readonly kind: 'alloc' | 'free';
      readonly device: string;
      /** Address inside the device's memory, in bytes. */
      readonly ptr: number;
      /** Bytes of the block, alignment included. */
      readonly bytes: number;
      /** Bytes allocated on the device after this event. */
      readonly allocated: number;
      /** The running op; for a free, the op after which the value was dead. */
      readonly op: string;
    }
  | {
      /** The allocator reserved a chunk of the device's memory. */
      readonly kind: 'reserve';
      readonly device: string;
      readonly bytes: number;
      readonly reserved: number;
    }
  | { readonly kind: 'kernel'; readonly device: string; readonly op: string }
  /** Between `host` (JavaScript typed arrays) and a device. */
  | {
      readonly kind: 'copy';
      readonly from: string;
      readonly to: string;
      readonly bytes: number;
      readonly op: string;
    }
  /** A position marked by code: `forward`, `START SOT_CALL_3`. */
  | { readonly kind: 'mark'; readonly label: string };

export type MemoryListener = (event: MemoryEvent) => void;

class EventStream {
  #listeners: readonly MemoryListener[] = [];
  /** Whether there is a listener. */
  active = false;
  /** The name of the running op, to which allocations are attributed. */
  op = '';
  /** In a program, the user's line that issued the op. Undefined while ops run eagerly. */
  at: UserPosition | undefined;
  /** The number of kernels issued so far, on all devices. */
  kernels = 0;

  subscribe(listener: MemoryListener): () => void {
    this.#listeners = [...this.#listeners, listener];
    this.active = true;
    return () => {
      this.#listeners = this.#listeners.filter((l) => l !== listener);
      this.active = this.#listeners.length > 0;
    };
  }

  emit(event: MemoryEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  /** Notes that an op's kernel was issued. */
  kernel(device: string, op: string): void {
    this.kernels++;
    if (this.active) this.emit({ kind: 'kernel', device, op });
  }

  /** Notes that bytes were copied between JavaScript arrays and a device. */
  copy(from: string, to: string, bytes: number): void {
    if (this.active) this.emit({ kind: 'copy', from, to, bytes, op: this.op });
  }

  mark(label: string): void {
    if (this.active) this.emit({ kind: 'mark', label });
  }
}

export const events = new EventStream();

/** Runs `body` and returns its result and all events. */
export function recordEvents<T>(body: () => T): { result: T; events: MemoryEvent[] } {
  expectSync('memory.record', body);
  const recorded: MemoryEvent[] = [];
  const unsubscribe = events.subscribe((event) => recorded.push(event));
  try {
    return { result: body(), events: recorded };
  } finally {
    unsubscribe();
  }
}
