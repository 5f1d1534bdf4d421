/** Kernels of the user's own on the GPU, compiled by gpu.js: as on the CPU. */

import { describe, expect, it } from 'vitest';
import { seed, type Tensor, tidy, toStatic } from '../../src/index.ts';
import { gpuForTests, skipGpu } from '../gpu/open-gpu.ts';
import { expectClose, expectParity } from '../gpu/parity.ts';
import { product, samples, smooth } from './kernels.ts';
import { kernelCases } from './language-kernels.ts';

describe.skipIf(skipGpu)('user-kernels/on the GPU', () => {
  const gpu = gpuForTests();

  describe.each(Object.entries(samples))('%s', (_name, { run, operands, expected }) => {
    it.each(['eagerly', 'captured'])('is what the CPU computes, %s', async (how) => {
      const { compiled, wgsl } = gpu().kernelStats;
      const captured = toStatic(run, { fullGraph: true });
      const fn = how === 'captured' ? captured : run;
      const given = operands();
      const onGpu = given.map((each) => each.to(gpu()));
      const result = fn(...onGpu);
      expect(result.device).toBe(gpu());
      const data = (await result.data()) as Float32Array;
      expectClose(data, expected(...given).dataSync() as Float32Array, { absolute: 1e-5 });
      expect(gpu().computedOnCpu.size).toBe(0);
      const after = gpu().kernelStats;
      const byGpuJs = after.compiled - after.wgsl - (compiled - wgsl);
      if (how === 'eagerly') expect(byGpuJs).toBe(data.length === 0 ? 0 : 1);
      for (const each of [...given, ...onGpu, result]) each.dispose();
      await captured.checked();
    });
  });

  it.each(Object.entries(kernelCases))('%s computes what the CPU does', async (name, each) => {
    const body = () => {
      seed(1);
      return each.call(...each.inputs());
    };
    const absolute = name === 'inverses' ? 5e-4 : 2e-5;
    await expectParity(gpu(), body, { relative: 2e-5, absolute });
    expect(gpu().computedOnCpu.size).toBe(0);
  });

  it('gradients and other sizes are those of the CPU', async () => {
    const fn = toStatic((a: Tensor, b: Tensor) => product(a.tanh(), b).pow(2).sum());
    const { operands } = samples['a product of strided operands']!;
    for (const rows of [3, 2, 3]) {
      const [a, b] = operands();
      const given = a!.narrow(0, 0, rows);
      const [own, other] = [given.clone(), given.to(gpu())].map((each) => each.requiresGrad_());
      fn(own!, b!).backward();
      fn(other!, b!.to(gpu())).backward();
      const found = (await other!.grad!.data()) as Float32Array;
      expectClose(found, own!.grad!.dataSync() as Float32Array, { absolute: 1e-4 });
    }
    await fn.checked();
  });

  it('takes the bytes that were planned, and one submit with the ops around it', async () => {
    const { operands } = samples.neighbours!;
    const [x, by] = operands().map((each) => each.to(gpu()));
    // Comparisons with the traced program would read results back.
    const fn = toStatic((y: Tensor, k: Tensor) => smooth(y.exp(), k).add(1), { check: 0 });
    tidy(() => void fn(x!, by!));
    await gpu().synchronize();
    const before = gpu().commandCounts.submits;
    tidy(() => void fn(x!, by!));
    await gpu().synchronize();
    expect(gpu().commandCounts.submits - before).toBe(1);
    const text = String(fn.explain());
    const [, measured, planned] = /peak of the last run (\S+) bytes measured, (\S+) planned/.exec(
      text,
    )!;
    expect(measured).toBe(planned);
  });
});
