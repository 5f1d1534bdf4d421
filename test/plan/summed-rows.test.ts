/** Gradients of convolutions are summed up block by block, in the op that makes what they are summed over. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { workload as convNet } from '../../examples/workloads/conv-net.ts';
import { Captured } from '../../src/dispatch/captured-function.ts';
import {
  crossEntropy,
  deviceGuard,
  memory,
  nn,
  optim,
  randn,
  refcounted,
  relu,
  seed,
  type Tensor,
  tensor,
} from '../../src/index.ts';

interface Shape {
  readonly batch: number;
  readonly channels: number;
  readonly size: number;
  readonly bias: boolean;
  readonly layers: number;
}

function train({ batch, channels, size, bias, layers }: Shape, prefer: 'bytes' | 'time' | null) {
  seed(3);
  const convs = Array.from(
    { length: layers },
    (_, i) => new nn.Conv2d(i === 0 ? 1 : channels, channels, 3, { padding: 1, bias }),
  );
  const pool = new nn.MaxPool2d(2);
  const side = size >> layers;
  const last = new nn.Linear(channels * side * side, 5);
  const modules = [...convs, last];
  const optimizer = new optim.SGD(
    modules.flatMap((each) => [...each.parameters()]),
    { lr: 0.05 },
  );
  const step = (x: Tensor, labels: Tensor): Tensor => {
    const y = convs.reduce((x, conv) => pool.forward(relu(conv.forward(x))), x);
    const loss = crossEntropy(last.forward(y.flatten(1)), labels);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  const captured =
    prefer && new Captured(step as Captured['fn'], { memory: { slices: false, prefer } });
  const eager = refcounted(step);
  const x = randn([batch, 1, size, size]);
  const labels = tensor(
    Array.from({ length: batch }, (_, i) => (i * 7) % 5),
    { dtype: 'int32' },
  );
  const losses: number[] = [];
  let peak = 0;
  for (let i = 0; i < 3; i++) {
    memory.reset('cpu');
    const before = memory.stats('cpu').allocated;
    const loss = captured ? (captured.call(undefined, [x, labels]) as Tensor) : eager(x, labels);
    peak = memory.stats('cpu').peakAllocated - before;
    losses.push(loss.itemSync());
    loss.dispose();
  }
  const forward = captured?.parts.at(-1)?.stages?.planned.forward;
  const parameters = modules.flatMap((each) =>
    [...each.parameters()].map((own) => [...own.dataSync()]),
  );
  for (const each of [x, labels, optimizer, ...modules]) each.dispose();
  const sums = (forward?.steps ?? []).filter(({ op }) => {
    const { kernel } = op.op;
    if (kernel.kind !== 'staged') return false;
    const { stages, rows, longestRow } = kernel.body;
    return stages.some(({ cut }) => cut.accumulate) && rows * longestRow > 2 * 65_536;
  }).length;
  return { losses, parameters, peak, predicted: forward?.predicted.peakBytes, sums };
}

it('have the bits of eager execution in several blocks, and the bytes of the plan', () => {
  const before = memory.stats('cpu').allocated;
  let [summed, smaller] = [0, 0];
  const shapes = fc.record({
    batch: fc.constantFrom(16, 31, 48),
    channels: fc.constantFrom(4, 7, 8),
    size: fc.constantFrom(24, 28),
    bias: fc.boolean(),
    layers: fc.constantFrom(1, 2),
  });
  fc.assert(
    fc.property(shapes, (shape) => {
      const [eager, own, usual] = [train(shape, null), train(shape, 'bytes'), train(shape, 'time')];
      expect(own.losses).toEqual(eager.losses);
      expect(own.parameters).toEqual(eager.parameters);
      expect(own.peak).toBe(own.predicted);
      expect(usual.parameters).toEqual(eager.parameters);
      // A plan that is to take no longer has none of these.
      expect(usual.sums).toBe(0);
      if (own.sums > 0) summed++;
      if (own.peak < usual.peak) smaller++;
    }),
    { numRuns: 8, seed: 4 },
  );
  expect(summed).toBeGreaterThan(2);
  expect(smaller).toBeGreaterThan(2);
  expect(memory.stats('cpu').allocated).toBe(before);
}, 60_000);

it('leave the convolutional net what its forward saves, without slices', () => {
  deviceGuard('meta', () => {
    const work = convNet.build({ device: 'meta', size: 'reduced', breaks: false });
    const memory = { slices: false, prefer: 'bytes' } as const;
    const captured = new Captured(work.step as Captured['fn'], { memory });
    const inputs = work.inputs(0);
    for (let i = 0; i < 2; i++) (captured.call(undefined, inputs) as Tensor).dispose();
    const { steps, predicted } = captured.parts.at(-1)!.stages!.planned.forward;
    const summed = steps.flatMap(({ op: { op } }) => {
      return op.kernel.kind === 'staged'
        ? op.kernel.body.stages.filter(({ cut }) => cut.accumulate)
        : [];
    });
    expect(summed.map(({ op }) => op.name).sort()).toContain('conv2dWeightGrad');
    expect(summed.map(({ op }) => op.name)).toContain('sum');
    // The result of the first convolution alone takes 401,408.
    expect(predicted.peakBytes).toBeLessThan(300_000);
    for (const each of [...inputs, work]) each.dispose();
  });
});
