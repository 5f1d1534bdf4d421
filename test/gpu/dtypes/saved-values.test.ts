/** Saved values in half precision on the GPU, on request: fewer bytes are kept, as many as the plan says. */

import { expect, it } from 'vitest';
import { deviceGuard, type Tensor } from '../../../runtime/index.ts';
import { toStatic } from '../../../src/to-static.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';
import { expectClose } from '../parity.ts';
import { numbers } from '../wgsl/checked.ts';

const gpu = gpuForTests();

it.skipIf(skipGpu).each(['float16', 'bfloat16'] as const)('saved as %s', async (savedDtype) => {
  const loss = (x: Tensor) => x.tanh().exp().sin().mean();
  const { counter } = gpu().allocator;
  const run = async (memory: { savedDtype: typeof savedDtype | null }) => {
    const f = toStatic(loss, { memory });
    const x = deviceGuard(gpu(), () => numbers([40, 64], 1).requiresGrad_());
    f(x).dispose();
    const before = counter.allocated;
    counter.reset();
    const out = f(x);
    const { peakBytes } = f.programs()[0]!.stages!.planned.forward.predicted;
    expect(counter.peakAllocated - before).toBe(peakBytes);
    const kept = counter.allocated - before;
    out.backward();
    const [value, gradient] = [await out.data(), await x.grad!.data()];
    for (const t of [out, x.grad!, x]) t.dispose();
    return { kept, value, gradient };
  };
  const [plain, half] = [await run({ savedDtype: null }), await run({ savedDtype })];
  expect(half.kept).toBeLessThan(0.6 * plain.kept);
  expect(half.value).toEqual(plain.value);
  expectClose(half.gradient, plain.gradient, { relative: 0, absolute: 1e-5 });
});
