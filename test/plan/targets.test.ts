/** How far plans of whole training steps go, against eager execution with reference counting and against their bounds. */

import { describe, expect, it } from 'vitest';
import { workload as transformer } from '../../examples/workloads/char-transformer.ts';
import { workload as convNet } from '../../examples/workloads/conv-net.ts';
import { workload as lstm } from '../../examples/workloads/lstm.ts';
import { workload as mlp } from '../../examples/workloads/mlp.ts';
import { workload as resNet } from '../../examples/workloads/resnet.ts';
import { Captured } from '../../src/dispatch/captured-function.ts';
import { deviceGuard, memory, refcounted, type Tensor } from '../../src/index.ts';
import type { Workload } from '../../src/lab/compare/workload.ts';

function measure(workload: Workload) {
  return deviceGuard('meta', () => {
    const built = workload.build({ device: 'meta', size: 'reduced', breaks: false });
    const batch = built.inputs(0);
    const peakOf = (step: (...given: Tensor[]) => Tensor): number => {
      step(...batch).dispose();
      step(...batch).dispose();
      memory.reset('meta');
      step(...batch).dispose();
      return memory.stats('meta').peakAllocated;
    };
    const atFirst = memory.stats('meta').allocated;
    const eager = peakOf(refcounted(built.step));
    const memoryOptions = { prefer: 'bytes' } as const;
    const captured = new Captured(built.step as Captured['fn'], { memory: memoryOptions });
    const planned = peakOf((...given) => captured.call(undefined, given) as Tensor);
    const { forward } = captured.parts.at(-1)!.stages!.planned;
    const { peakBytes, lowerBoundBytes } = forward.predicted;
    const held = memory.stats('meta').allocated;
    expect(held).toBe(atFirst);
    expect(planned).toBe(held + peakBytes);
    const loss = refcounted(built.loss)(...batch);
    const kept = memory.stats('meta').allocated;
    loss.dispose();
    for (const tensor of batch) tensor.dispose();
    built.dispose();
    return {
      ofEager: planned / eager,
      overBound: planned / (held + lowerBoundBytes),
      kept: kept / eager,
    };
  });
}

describe('plan/targets', () => {
  it.each([
    ['mlp', mlp, 0.775, 1.001],
    ['conv-net', convNet, 0.145, 1.07],
    ['lstm', lstm, 0.79, 1.001],
    // The bound is that of ops one by one, of which eight slices have many orders.
    ['char-transformer', transformer, 0.385, 1.12],
  ] as const)('%s', (_, workload, share, most) => {
    const { ofEager, overBound } = measure(workload);
    expect(ofEager).toBeLessThan(share + 0.005);
    expect(ofEager).toBeLessThan(0.8);
    expect(overBound).toBeLessThan(most);
    expect(overBound).toBeGreaterThanOrEqual(1);
  });

  it('resnet: nearly all of it is what backward reads of forward', () => {
    const { ofEager, overBound, kept } = measure(resNet);
    expect(overBound).toBeLessThan(1.02);
    expect(kept).toBeGreaterThan(0.98);
    expect(ofEager).toBeLessThan(kept + 0.01);
  });
});
