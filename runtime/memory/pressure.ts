/**
 * Handles tensors that only the garbage collector can free. Their memory is outside the JavaScript heap: the collector
 * doesn't see it grow, and finalizers run only in macrotasks. So the awaits of a training loop trigger a collection
 * once enough was allocated, and a loop without awaits prints a warning, once.
 */

import { formatPosition, userPosition } from '../errors/position.ts';
import { collectGarbage } from './collect-garbage.ts';
import { macrotask, overdueMacrotask } from './macrotask.ts';
import type { MemoryCounter } from './stats.ts';

const MiB = 2 ** 20;
/** The growth since the last collection, in bytes, that triggers the next one: between these limits. */
const [leastGrowth, mostGrowth] = [256 * MiB, 512 * MiB];

/** The maximum number of macrotasks to wait for finalizers. */
const mostMacrotasks = 3;

/** The allocated bytes at which each device's next collection is due. */
const dueAt = new WeakMap<MemoryCounter, number>();

/** Whether enough was allocated since the last collection to trigger another one. */
export function isUnderPressure(counter: MemoryCounter): boolean {
  return counter.allocated > (dueAt.get(counter) ?? leastGrowth);
}

/**
 * For the end of a step: undefined if nothing is due, else a function that waits for a collection under pressure, or
 * for the next macrotask if this one has lasted long.
 */
export function pauseDue(counter: MemoryCounter): (() => Promise<void>) | undefined {
  if (isUnderPressure(counter)) return () => collectUnderPressure(counter);
  const next = overdueMacrotask();
  return next ? () => next : undefined;
}

/** Under pressure, runs a collection if possible, and waits for macrotasks that free the collected tensors. */
export async function collectUnderPressure(counter: MemoryCounter): Promise<void> {
  if (!isUnderPressure(counter)) return;
  const before = counter.allocated;
  // Finalizers run in a macrotask that the collection queues, not necessarily the next one.
  const macrotasks = collectGarbage() ? mostMacrotasks : 1;
  for (let i = 0; i < macrotasks && counter.allocated >= before; i++) await macrotask();
  const growth = Math.min(mostGrowth, Math.max(leastGrowth, counter.allocated));
  dueAt.set(counter, counter.allocated + growth);
}

/** The device's state when it first allocated memory in the current macrotask. */
interface MacrotaskStart {
  readonly allocated: number;
  readonly blocks: number;
}

const starts = new WeakMap<MemoryCounter, MacrotaskStart>();
let isReported = false;

/** Growth within one macrotask that indicates a loop of steps rather than a large model. */
const [manyBytes, manyBlocks] = [768 * MiB, 1000];

/** Called when a device reserves more memory, which is rare and only happens while the program grows. */
export function noteGrowth(counter: MemoryCounter): void {
  if (isReported) return;
  const { allocated, allocations, frees } = counter;
  const blocks = allocations - frees;
  const start = starts.get(counter);
  if (!start) {
    try {
      const timer: unknown = setTimeout(() => starts.delete(counter), 0);
      // The timer must not keep the process alive.
      if (typeof timer === 'object') (timer as { unref?(): void }).unref?.();
      starts.set(counter, { allocated, blocks });
    } catch {
      // Cloudflare's workers have no timers while they start, when nothing trains.
    }
    return;
  }
  const bytes = allocated - start.allocated;
  if (bytes < manyBytes || blocks - start.blocks < manyBlocks) return;
  isReported = true;
  const at = userPosition();
  console.warn(
    `tostatic: ${Math.round(bytes / MiB)} MiB of tensors were made without a wait${at ? ` (${formatPosition(at)})` : ''}; ` +
      'those that are not in use come back only when the garbage collector runs, which it cannot before the loop waits. ' +
      'Await loss.item() or tick() in each step, work inside tidy(), or declare tensors with using',
  );
}
