import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { allocated, tensor } from '../ops/eager.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

it('forgotten tensors keep their memory until the next file starts', async () => {
  const before = allocated();
  const forgotten = (() => new WeakRef(tensor(new Float32Array(1024))))();
  // A WeakRef that was read keeps its object alive until the current job ends.
  for (let i = 0; i < 50; i++) {
    await setTimeout(5);
    collectGarbage();
    if (!forgotten.deref()) break;
  }
  expect(forgotten.deref()).toBeUndefined();
  await setTimeout(20);
  expect(allocated() - before).toBe(4096);
});
