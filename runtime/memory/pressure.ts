/**
 * Tensors that only the garbage collector can free. Their memory isn't JavaScript's: the collector
 * doesn't see it grow, and finalizers run in macrotasks alone. So the waits of a training loop ask for a
 * collection when much was allocated since the last one, and a loop without any is told of once.
 */

import { formatPosition, userPosition } from '../errors/position.ts';
import { collectGarbage, macrotask } from './collect-garbage.ts';
import type { MemoryCounter } from './stats.ts';

const MiB = 2 ** 20;
/** A collection is requested once this many more bytes are in use than the last one left. */
const [leastGrowth, mostGrowth] = [256 * MiB, 512 * MiB];

/** Macrotasks that are waited for finalizers. */
const mostTurns = 3;

/** Where the next collection of each device is due. */
const dueAt = new WeakMap<MemoryCounter, number>();

/** Whether enough was allocated since the last collection for another one. */
export function isUnderPressure(counter: MemoryCounter): boolean {
  return counter.allocated > (dueAt.get(counter) ?? leastGrowth);
}

/** Under pressure: a collection where the engine allows it, and a macrotask, in which collected tensors are freed. */
export async function relieve(counter: MemoryCounter): Promise<void> {
  if (!isUnderPressure(counter)) return;
  const before = counter.allocated;
  // Finalizers are a macrotask that the collection queues: it may come after the next one.
  const turns = collectGarbage() ? mostTurns : 1;
  for (let i = 0; i < turns && counter.allocated >= before; i++) await macrotask();
  const growth = Math.min(mostGrowth, Math.max(leastGrowth, counter.allocated));
  dueAt.set(counter, counter.allocated + growth);
}

/** The state when the current macrotask first allocated memory on a device. */
interface MacrotaskStart {
  readonly allocated: number;
  readonly blocks: number;
}

const turns = new WeakMap<MemoryCounter, MacrotaskStart>();
let isTold = false;

/** Growth within one macrotask that looks like a loop of steps rather than a large model. */
const [manyBytes, manyBlocks] = [768 * MiB, 1000];

/** Said of a device that takes more memory: seldom, and only while the program grows. */
export function noteGrowth(counter: MemoryCounter): void {
  if (isTold) return;
  const { allocated, allocations, frees } = counter;
  const blocks = allocations - frees;
  const turn = turns.get(counter);
  if (!turn) {
    turns.set(counter, { allocated, blocks });
    const timer: unknown = setTimeout(() => turns.delete(counter), 0);
    // The process may end meanwhile.
    if (typeof timer === 'object') (timer as { unref?(): void }).unref?.();
    return;
  }
  const bytes = allocated - turn.allocated;
  if (bytes < manyBytes || blocks - turn.blocks < manyBlocks) return;
  isTold = true;
  const at = userPosition();
  console.warn(
    `tostatic: ${Math.round(bytes / MiB)} MiB of tensors were made without a wait${at ? ` (${formatPosition(at)})` : ''}; ` +
      'those that are not in use come back only when the garbage collector runs, which it cannot before the loop waits. ' +
      'Await loss.item() or tick() in each step, work inside tidy(), or declare tensors with using',
  );
}
