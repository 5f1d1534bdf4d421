import { describe, expect, it } from 'vitest';
import { deviceGuard } from '../../runtime/device/current.ts';
import { contiguousMeta } from '../../runtime/device/tensor-meta.ts';
import { tensor } from '../../runtime/ops/core/create.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import type { Plan, Step } from '../../runtime/program/plan.ts';
import type { ValueId } from '../../runtime/program/program.ts';
import { Executable } from '../../runtime/run-program/executor.ts';
import { Scope } from '../../runtime/run-program/scope/scope.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { toStatic } from '../../src/to-static.ts';
import { gpuForTests, onDevice, skipGpu } from './open-gpu.ts';
import { expectClose } from './parity.ts';
import '../../runtime/tensor-methods/methods.ts';

const id = (value: number) => value as ValueId;

function step(name: string, inputs: number[], output: number, more: Partial<Step>): Step {
  const op = {
    op: opNamed(name),
    inputs: inputs.map(id),
    outputs: [id(output)],
    attrs: {},
    recordsGrad: false,
    at: undefined,
  };
  return { op, reuses: [null], frees: [], ...more };
}

describe.skipIf(skipGpu)('gpu/program', () => {
  const gpu = gpuForTests();

  it.each<[string, (x: Tensor) => Tensor | number]>([
    ['a branch', (x) => (x.sum().itemSync() > 0 ? x.mul(2) : x.sub(1))],
    [
      'a loop',
      (x) => {
        let y = x;
        while (y.sum().itemSync() < 100) y = y.mul(2);
        return y;
      },
    ],
    ['elements', (x) => x.mul(x.sum(0).toArraySync() as number)],
    ['elements, by the other name', (x) => x.mul((x.tolist() as number[])[1]!)],
    ['a number of several', (x) => x.itemSync()],
  ])('%s that reads at once is the error of eager execution, in full graphs too', (_name, fn) => {
    const x = deviceGuard(gpu(), () => tensor([1, 2]));
    const errorOf = (run: typeof fn): string => {
      try {
        return String(run(x));
      } catch (error) {
        return String(error);
      }
    };
    const expected = errorOf(fn);
    expect(expected).toMatch(/^(?:DeviceError|ShapeError): (?:itemSync|toArraySync)/);
    expect(errorOf(toStatic(fn))).toBe(expected);
    // A full graph adds the lines around it.
    expect(errorOf(toStatic(fn, { fullGraph: true })).slice(0, expected.length)).toBe(expected);
  });

  it('a plan that reuses memory in place peaks where it was predicted', async () => {
    const device = gpu();
    const meta = contiguousMeta({ dtype: 'float32', shape: [64, 4] }, device);
    // a = x + y; b = tanh(a) in a's memory; c = b · b in b's memory; out = c − y, new.
    const plan: Plan = {
      inputs: [id(0), id(1)],
      steps: [
        step('add', [0, 1], 2, {}),
        step('tanh', [2], 3, { reuses: [id(2)], frees: [id(2)] }),
        step('mul', [3, 3], 4, { reuses: [id(3)], frees: [id(3)] }),
        step('sub', [4, 1], 5, { frees: [id(4), id(0), id(1)] }),
      ],
      outputs: [id(5)],
      unusedInputs: [],
      freesAtEnd: [],
      reordered: false,
      arenaBytes: 0,
      predicted: {
        peakBytes: 2048,
        lowerBoundBytes: 2048,
        savedBytes: 0,
        copiedBytes: 0,
        outputBytes: 1024,
      },
    };
    const executable = new Executable(plan, Array(6).fill(meta));
    const scope = new Scope(6);
    const { counter } = device.allocator;
    await onDevice(device, async () => {
      const data = (phase: number) => new Float32Array(256).map((_, i) => Math.sin(i + phase));
      const [x, y] = [tensor(data(0), { shape: [64, 4] }), tensor(data(1), { shape: [64, 4] })];
      // Nothing is left to the collector, which would take it at a moment of its own.
      const expected = tidy(() => x.add(y).tanh());
      let kernels = 0;
      for (let run = 0; run < 3; run++) {
        scope.slots[0]!.put(x.holder!.retain(), 0);
        scope.slots[1]!.put(y.holder!.retain(), 0);
        // Reading data waits, and then tensors of earlier tests may be collected.
        const before = counter.allocated;
        counter.reset();
        executable.run(scope);
        expect(counter.peakAllocated - before).toBe(plan.predicted.peakBytes);
        expect(counter.allocated - before).toBe(plan.predicted.outputBytes);
        const { holder, offset } = scope.slots[5]!;
        const out = new Tensor({ ...meta, offset }, holder!.retain());
        for (const slot of scope.slots) slot.release();
        const [a, b, actual] = await Promise.all([expected.data(), y.data(), out.data()]);
        expectClose(
          actual,
          [...a].map((v, i) => v * v - b[i]!),
          { absolute: 1e-6 },
        );
        out.dispose();
        // The variants that write in place are compiled by the first run, nothing by later ones.
        if (run > 0) expect(device.kernelStats.compiled).toBe(kernels);
        kernels = device.kernelStats.compiled;
      }
      for (const t of [x, y, expected]) t.dispose();
    });
  });
});
