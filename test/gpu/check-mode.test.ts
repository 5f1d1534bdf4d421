import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  type Device,
  deviceGuard,
  deviceNamed,
  nn,
  randn,
  relu,
  seed,
  type Tensor,
} from '../../runtime/index.ts';
import type { Pass } from '../../src/5-optimize/facts/pass.ts';
import { passes } from '../../src/5-optimize/passes.ts';
import { toStatic } from '../../src/to-static.ts';
import { after } from '../check/finished-pass.ts';
import { gpuForTests, skipGpu } from './open-gpu.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

describe.skipIf(skipGpu)('check mode on a GPU', () => {
  gpuForTests();

  function layer(device: Device) {
    return deviceGuard(device, () => {
      seed(3);
      const linear = new nn.Linear(6, 4);
      const f = toStatic((x: Tensor) => relu(linear.forward(x)).mul(2).sum(), { check: 1 });
      return { f, x: randn([8, 6]) };
    });
  }

  it('compares runs and backwards asynchronously', async () => {
    const { f, x } = layer(deviceNamed('gpu'));
    f(x).backward();
    await f.checked();
    expect(f.stats().checks).toEqual({ runs: 1, backwards: 1 });
  });

  it('rejects with the pass that makes a difference', async () => {
    const pass: Pass = passes.find(({ name }) => name === 'labelGradient')!;
    const { run } = pass;
    vi.spyOn(pass, 'run').mockImplementation((given, context) => {
      const done = after(run(given, context));
      const ops = done.program.ops.map((op) =>
        op.op.name === 'mulScalar' ? { ...op, attrs: { ...op.attrs, value: 3 } } : op,
      );
      return { ...done, program: { ...done.program, ops } };
    });
    const { f, x } = layer(deviceNamed('gpu'));
    f(x);
    await expect(f.checked()).rejects.toThrow(/the pass 'labelGradient' makes the difference/);
  });
});
