/** Random numbers drawn on the GPU: the CPU's uniform numbers to the bit, and its normal ones within 1e-6. */

import { describe, expect, it } from 'vitest';
import {
  bernoulli,
  deviceGuard,
  dropout,
  full,
  ones,
  rand,
  randint,
  randn,
  type Tensor,
} from '../../../runtime/index.ts';
import '../../../runtime/tensor-methods/methods.ts';
import { seed, setRandomState } from '../../../runtime/random/seed.ts';
import { toStatic } from '../../../src/to-static.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';
import { expectParity } from '../parity.ts';
import { exact } from './checked.ts';
import { counted, webGpuDevice } from './counted.ts';

/** Where streams begin: at each lane of a block, and where the lower word of the block's number wraps around. */
const states = [
  { seed: 7, offset: 0 },
  { seed: 0xffffffff, offset: 1 },
  { seed: 2 ** 40 + 3, offset: 2 },
  { seed: 5, offset: 2 ** 34 - 5 },
  { seed: 2 ** 53 - 1, offset: 2 ** 50 + 3 },
] as const;

const shapes = [[], [1], [3], [5, 7], [0], [2, 130], [1027]];

describe.skipIf(skipGpu)('gpu/wgsl/random', () => {
  const gpu = gpuForTests();

  it.each(states)('from %j on', async (state) => {
    const drawn = (draw: (shape: number[]) => Tensor, shape: number[]) => () => {
      setRandomState(state);
      return draw(shape);
    };
    for (const shape of shapes) {
      await expectParity(gpu(), drawn(rand, shape), exact);
      await expectParity(gpu(), drawn(randn, shape), { relative: 1e-6, absolute: 1e-6 });
    }
  });

  it.each<[string, () => Tensor]>([
    ['integers', () => randint(-3, 1000, [40, 5])],
    ['masks', () => bernoulli(full([33, 9], 0.3))],
    ['dropout', () => dropout(ones([65, 3]), 0.4)],
  ])('%s are those of the CPU', async (_name, draw) => {
    const drawn = () => {
      seed(11);
      return draw();
    };
    await expectParity(gpu(), drawn, exact);
  });

  it('extreme numbers are as close as others', async () => {
    const drawn = () => {
      seed(1);
      return randn([200_000]);
    };
    await expectParity(gpu(), drawn, { relative: 1e-6, absolute: 1e-6 });
  });

  it('captured dropout draws on from where it was: one submit, nothing uploaded, one kernel for all sizes', async () => {
    const run = (x: Tensor) => dropout(x.mul(2), 0.5);
    const captured = toStatic(run, { fullGraph: true, check: 0 });
    const steps = async (step: (x: Tensor) => Tensor, size: number) => {
      seed(3);
      const x = deviceGuard(gpu(), () => ones([size]));
      const found: number[][] = [];
      for (let i = 0; i < 3; i++) found.push([...(await step(x).data())]);
      return found;
    };
    const eager = await steps(run, 50);
    expect(await steps(captured, 50)).toEqual(eager);
    expect(eager[0]).not.toEqual(eager[1]);
    await steps(captured, 60);
    const { compiled } = gpu().kernelStats;
    expect(await steps(captured, 70)).toEqual(await steps(run, 70));
    expect(gpu().kernelStats.compiled).toBe(compiled);
    const x = deviceGuard(gpu(), () => ones([70]));
    await gpu().synchronize();
    const { submits } = gpu().commandCounts;
    const writes = counted((await webGpuDevice()).queue, 'writeBuffer');
    captured(x);
    await gpu().synchronize();
    expect(gpu().commandCounts.submits - submits).toBe(1);
    // The uniforms of all kernels.
    expect(writes.stop()).toBe(1);
  });
});
