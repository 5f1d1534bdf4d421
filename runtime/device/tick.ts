import { macrotask } from '../memory/macrotask.ts';
import { collectUnderPressure, isUnderPressure } from '../memory/pressure.ts';
import { currentDevice } from './current.ts';

/**
 * Yields to the JavaScript engine, which frees memory of collected tensors, draws pages and serves requests; triggers a
 * collection if enough was allocated since the last one. `await tick()` in each step of a loop without other awaits
 * bounds the memory of forgotten tensors.
 */
export async function tick(): Promise<void> {
  const { counter } = currentDevice().allocator;
  if (isUnderPressure(counter)) await collectUnderPressure(counter);
  else await macrotask();
}
