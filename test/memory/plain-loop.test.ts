/** Loops that dispose of nothing: what waits bound, and what a loop without any is told. */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { memory, nn, optim, randn, type Tensor, tick, toStatic } from '../../src/index.ts';
import { withSources } from '../source-process.ts';

const script = fileURLToPath(new URL('plain-loop-process.ts', import.meta.url));

async function run(
  wait: string,
  steps: number,
): Promise<{ readonly peakAllocated: number; readonly warnings: readonly string[] }> {
  const args = [...withSources, script, wait, String(steps)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout);
}

const MiB = 2 ** 20;

describe('memory/plain-loop', () => {
  for (const wait of ['item', 'tick', 'loader']) {
    it(`with a wait in each step (${wait}) the peak is bounded`, async () => {
      const { peakAllocated, warnings } = await run(wait, 600);
      // Without one, these steps hold more than 600 MiB.
      expect(peakAllocated).toBeLessThan(400 * MiB);
      expect(warnings).toEqual([]);
    }, 120_000);
  }

  it('without a wait there is one warning, with the line and what to do', async () => {
    const { peakAllocated, warnings } = await run('none', 750);
    expect(peakAllocated).toBeGreaterThan(768 * MiB);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^tostatic: \d+ MiB of tensors were made without a wait/);
    expect(warnings[0]).toMatch(/plain-loop-process\.ts:\d+:\d+/);
    for (const remedy of ['loss.item()', 'tick()', 'tidy()', 'using']) {
      expect(warnings[0]).toContain(remedy);
    }
  }, 120_000);

  it('a captured step keeps nothing: 10,000 of them in as many bytes as one', () => {
    const model = new nn.Linear(4, 3);
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.01, momentum: 0.9 });
    const step = toStatic((x: Tensor) => {
      optimizer.zeroGrad();
      const loss = model.forward(x).exp().mean();
      loss.backward();
      optimizer.step();
      return loss;
    });
    const x = randn([2, 4]);
    for (let i = 0; i < 10; i++) step(x).dispose();
    const before = memory.stats('cpu');
    for (let i = 0; i < 10_000; i++) step(x).dispose();
    const after = memory.stats('cpu');
    expect(after.allocated).toBe(before.allocated);
    expect(after.reserved).toBe(before.reserved);
    expect(after.peakAllocated).toBe(before.peakAllocated);
  });

  it('tick() lets what was collected be freed', async () => {
    let turned = false;
    setImmediate(() => {
      turned = true;
    });
    await tick();
    expect(turned).toBe(true);
  });
});
