/** The lowest limits of a program may lie far above what its largest op takes: the fewest bytes are those above them. */

import { expect, it } from 'vitest';
import type { Program } from '../../../runtime/program/program.ts';
import { Evictions } from '../../../src/5-optimize/recompute/evictions.ts';
import { ForwardFacts } from '../../../src/5-optimize/recompute/forward-facts.ts';
import { forwardOfStep } from '../../../src/5-optimize/recompute/forward-of-step.ts';
import { MemoryUses } from '../../../src/5-optimize/recompute/memory-uses.ts';
import { OpMemories } from '../../../src/7-plan/op-memory.ts';
import { roughBytes, roughOrder } from '../../../src/7-plan/plan.ts';
import { Captured } from '../../../src/dispatch/captured-function.ts';
import { deviceGuard, nn, optim, randn, type Tensor } from '../../../src/index.ts';

/** A step that clips gradients: all of them are live until their norm is known, and none can be recomputed. */
function clippedStep(depth: number): Program {
  return deviceGuard('meta', () => {
    const layers = Array.from({ length: depth }, () => [new nn.Linear(32, 32), new nn.GELU()]);
    const model = new nn.Sequential(...layers.flat());
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    const step = (x: Tensor) => {
      const loss = (model.forward(x) as Tensor).pow(2).mean();
      loss.backward();
      nn.utils.clipGradNorm_(model.parameters(), 1);
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    };
    const captured = new Captured(step as Captured['fn'], {
      memory: { budget: 2 ** 40, slices: false },
      fallback: 'error',
    });
    const x = randn([32, 32]);
    (captured.call(undefined, [x]) as Tensor).dispose();
    const { forward } = captured.parts.at(-1)!.stages!;
    for (const each of [x, optimizer, model]) each.dispose();
    return forward;
  });
}

it.each([4, 24])('in a step of %i layers that clips gradients', (depth) => {
  const program = clippedStep(depth);
  const ordered = roughOrder(program);
  const facts = new ForwardFacts(ordered, forwardOfStep(ordered));
  const memories = new OpMemories(ordered.values);
  const uses = new MemoryUses(facts, (op) => memories.of(op), new Set());
  const evictions = new Evictions(uses, (each) => roughBytes(each));
  const levels = Array.from({ length: evictions.count - 1 }, (_, i) => i + 1);
  const all = levels.flatMap((level) => evictions.at(level));
  const fewest = (of: typeof all) => Math.min(...of.map(({ bytes }) => bytes));
  expect(all.length).toBeGreaterThan(10);
  expect(fewest([...evictions.lowest()])).toBeLessThanOrEqual(1.02 * fewest(all));
});
