/** What can't be one program is refused at every call: no later one runs as ordinary JavaScript without a word. */

import { describe, expect, it } from 'vitest';
import { type Tensor, tensor, toStatic } from '../../../src/index.ts';

const refused: Readonly<Record<string, (x: Tensor) => unknown>> = {
  'a value that backward needs is written, beside a branch': (x) => {
    const y = x.mul(1.5);
    y.hypot_(y.t());
    if (x.sum().itemSync() > 0) return y.mul(y);
    return y.mul(2);
  },
  // biome-ignore lint/security/noGlobalEval: what is refused.
  'direct eval': (x) => [x.mul(2), eval('1')],
  'a function without tensors': () => Math.sqrt(2),
};

describe('full graph/refused again', () => {
  it.each(Object.keys(refused))('%s: five calls end alike', (name) => {
    const captured = toStatic(refused[name]!, { fullGraph: true });
    const ends = Array.from({ length: 5 }, () => {
      try {
        captured(
          tensor([
            [1, 2],
            [3, 4],
          ]).requiresGrad_(),
        );
        return 'returns';
      } catch (error) {
        return (error as Error).message.split('\n').slice(0, 2).join();
      }
    });
    expect(new Set(ends).size).toBe(1);
    if (name !== 'a function without tensors') expect(ends[0]).toMatch(/ordinary JavaScript/);
  });
});
