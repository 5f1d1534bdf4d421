import { macrotask } from '../memory/collect-garbage.ts';
import { isUnderPressure, relieve } from '../memory/pressure.ts';
import { currentDevice } from './current.ts';

/**
 * Yields to the JavaScript engine: memory of collected tensors is freed, pages draw, requests are answered. If
 * much was allocated since the last collection, triggers one. For loops without other awaits: `await tick()` in
 * each step bounds the memory of forgotten tensors.
 */
export async function tick(): Promise<void> {
  const { counter } = currentDevice().allocator;
  if (isUnderPressure(counter)) await relieve(counter);
  else await macrotask();
}
