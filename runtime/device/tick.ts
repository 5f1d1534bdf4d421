import { macrotask } from '../memory/collect-garbage.ts';
import { isUnderPressure, relieve } from '../memory/pressure.ts';
import { currentDevice } from './current.ts';

/**
 * Lets the JavaScript engine do its work between macrotasks: free the memory of tensors that were collected, draw,
 * answer requests. When much was allocated since the last collection, it asks for one. For loops that wait
 * for nothing else: `await tick()` in each step bounds what forgotten tensors hold.
 */
export async function tick(): Promise<void> {
  const { counter } = currentDevice().allocator;
  if (isUnderPressure(counter)) await relieve(counter);
  else await macrotask();
}
