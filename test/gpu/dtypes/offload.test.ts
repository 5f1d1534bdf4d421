/** Saved values that leave a GPU after forward, and come back in backward: bytes, bits, and when. */

import { beforeAll, describe, expect, it } from 'vitest';
import { deviceGuard } from '../../../runtime/device/current.ts';
import { StoreDevice } from '../../../runtime/device/store/store-device.ts';
import { appliedTo } from '../../../src/explain/applied.ts';
import {
  AutogradError,
  gelu,
  init,
  memory,
  nn,
  randn,
  seed,
  type Tensor,
  tick,
  toStatic,
} from '../../../src/index.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';

const layers = 5;
const [rows, width] = [64, 32];

describe.skipIf(skipGpu)('gpu/offload', () => {
  const gpu = gpuForTests();
  beforeAll(async () => {
    await init('host');
    await init('file');
  });

  function netOf(offload: 'host' | 'file' | null) {
    return deviceGuard(gpu(), () => {
      seed(3);
      const own = Array.from({ length: layers }, () => new nn.Linear(width, width));
      const x = randn([rows, width]);
      const f = toStatic(
        (h: Tensor) =>
          own
            .reduce((y, layer) => gelu(layer.forward(y)).exp().tanh(), h)
            .pow(2)
            .mean(),
        { memory: { offload }, fallback: 'error' },
      );
      const gradients = async () => {
        const data = await Promise.all(own.map((layer) => layer.weight.grad!.data()));
        for (const layer of own) for (const each of layer.parameters()) each.grad = null;
        return data.map((each) => [...each]);
      };
      const dispose = () => {
        for (const each of [x, ...own]) each.dispose();
      };
      return { f, x, gradients, dispose };
    });
  }

  const allocated = () => gpu().allocator.counter.allocated;

  it.each(['host', 'file'] as const)(
    'to %s: fewer bytes on the GPU, the same bits',
    async (store) => {
      const [plain, away] = [netOf(null), netOf(store)];
      const run = async ({ f, x, gradients }: ReturnType<typeof netOf>) => {
        const { counter } = gpu().allocator;
        let kept = 0;
        let peak = 0;
        let backward = 0;
        let bits: unknown[] = [];
        let inStore = 0;
        for (let i = 0; i < 3; i++) {
          const before = allocated();
          counter.reset();
          const loss = f(x);
          kept = allocated() - before;
          peak = counter.peakAllocated - before;
          inStore = memory.stats(store).allocated;
          const value = await loss.item();
          counter.reset();
          const start = allocated();
          loss.backward();
          backward = counter.peakAllocated - start;
          bits = [value, await gradients()];
          loss.dispose();
          expect(memory.stats(store).allocated).toBe(0);
        }
        return { kept, peak, backward, bits, inStore };
      };
      const [before, after] = [await run(plain), await run(away)];
      const part = away.f.programs()[0]!;
      const { forward, backward } = part.record.planned!;
      expect(appliedTo(part)!.offload).toBe(1);
      expect(after.bits).toEqual(before.bits);
      expect(before.inStore).toBe(0);
      // Each value is counted where it is.
      expect(after.kept + after.inStore).toBe(before.kept);
      expect(after.kept).toBe(forward.predicted.savedBytes + forward.predicted.outputBytes);
      expect(after.kept).toBeLessThan(before.kept / 4);
      expect(after.peak).toBe(forward.predicted.peakBytes);
      expect(after.peak).toBeLessThan(before.peak / 2);
      expect(after.backward).toBeLessThanOrEqual(backward!.plan.predicted.peakBytes);
      for (const each of [plain, away]) each.dispose();
    },
  );

  it('a backward that comes too soon is refused, and may come again', async () => {
    const { f, x, gradients, dispose } = netOf('host');
    f(x).dispose();
    await tick();
    const loss = f(x);
    expect(() => loss.backward()).toThrow(AutogradError);
    expect(() => loss.backward()).toThrow(/on its way to 'host'[\s\S]*backwardAsync/);
    await loss.item();
    loss.backward();
    const late = await gradients();
    const other = f(x);
    await other.backwardAsync();
    expect(await gradients()).toEqual(late);
    expect(memory.stats('host').allocated).toBe(0);
    for (const each of [loss, other]) each.dispose();
    dispose();
  });

  it('what is dropped on its way is forgotten when it lands', async () => {
    const { f, x, dispose } = netOf('file');
    const loss = f(x);
    expect(memory.stats('file').allocated).toBeGreaterThan(0);
    loss.dispose();
    expect(memory.stats('file').allocated).toBe(0);
    await gpu().synchronize();
    dispose();
  });

  it('a value that could not be kept says so when backward reads it', async () => {
    const full = new StoreDevice('full', {
      put: () => {
        throw new Error('no space left on device');
      },
    });
    const x = deviceGuard(gpu(), () => randn([rows, width]));
    const y = x.to(full);
    await gpu().synchronize();
    await tick();
    expect(() => full.downloadSync(y, y)).toThrow('no space left');
    for (const each of [x, y]) each.dispose();
    expect(full.allocator.counter.allocated).toBe(0);
  });
});
