import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { destroyGpu, type GpuOptions, initGpu } from '../../runtime/device/gpu/init.ts';
import { collectGarbage } from '../../runtime/memory/collect-garbage.ts';
import { events } from '../../runtime/memory/events.ts';
import { macrotask } from '../../runtime/memory/macrotask.ts';
import { bind1 } from '../../runtime/ops/core/bind.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import {
  cholesky,
  cummax,
  DeviceError,
  det,
  deviceGuard,
  deviceNamed,
  eigvalsh,
  gcd,
  interpolate,
  inverse,
  logcumsumexp,
  memory,
  noGrad,
  optim,
  pinv,
  qr,
  solve,
  svdvals,
  type Tensor,
  tensor,
  tidy,
  toStatic,
  traceLog,
} from '../../src/index.ts';
import { gpuForTests, skipGpu, useSoftwareAdapter } from './open-gpu.ts';
import { expectParity } from './parity.ts';

const square = () =>
  tensor([
    [4, 1, 0.5],
    [1, 3, 0.25],
    [0.5, 0.25, 2],
  ]);

const image = () =>
  tensor(
    new Float32Array(2 * 16).map((_, i) => Math.sin(i)),
    { shape: [1, 2, 4, 4] },
  );

describe.skipIf(skipGpu)('gpu/computed-on-cpu', () => {
  const gpu = gpuForTests();
  beforeEach(() => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  /** On the GPU, outside of any guard. */
  const onGpu = (values: number[] | number[][]) => deviceGuard(gpu(), () => tensor(values));
  const allocated = () => [memory.stats('cpu').allocated, memory.stats('gpu').allocated];

  /** Bytes of both devices after `body` are those before it. */
  const leavesNothing = async (body: () => Promise<void>) => {
    const before = allocated();
    await body();
    expect(allocated()).toEqual(before);
  };

  describe('ops that the GPU has no kernel for', () => {
    const ops: Record<string, () => Tensor> = {
      inverse: () => inverse(square()),
      det: () => det(square()),
      cholesky: () => cholesky(square()),
      svdvals: () => svdvals(square()),
      eigvalsh: () => eigvalsh(square()),
      qr: () => tidy(() => qr(square())[1]),
      pinv: () => pinv(square()),
      gcd: () => gcd(square().round().int(), 2),
      solve: () => solve(square(), tensor([[1], [2], [3]])),
      cummax: () => cummax(square(), 1)[0]!,
      logcumsumexp: () => logcumsumexp(square(), 0),
      interpolate: () => interpolate(image(), { scaleFactor: 2, mode: 'bilinear' }),
      'of a strided operand': () => inverse(square().transpose(0, 1)),
      'between ops of the GPU': () => inverse(square().mul(2)).matmul(square()),
    };
    for (const [name, op] of Object.entries(ops)) {
      it(`${name}: the CPU computes it, and the result is on the GPU`, async () => {
        await leavesNothing(() => expectParity(gpu(), op));
      });
    }

    it('gradients pass through them', async () => {
      await leavesNothing(() =>
        expectParity(gpu(), () => {
          const x = square().requiresGrad_();
          inverse(x).sum().backward();
          return x.grad!;
        }),
      );
    });

    it("the op's own error comes with the read, and names the line that asked", async () => {
      await leavesNothing(async () => {
        const singular = onGpu([
          [1, 2],
          [2, 4],
        ]);
        const result = inverse(singular);
        const later = result.mul(2);
        await expect(later.data()).rejects.toThrow(/inverse[\s\S]*computed-on-cpu\.test\.ts/);
        for (const t of [singular, result, later]) t.dispose();
      });
    });

    it('a captured function computes them in its program', async () => {
      await leavesNothing(async () => {
        const f = toStatic((x: Tensor) => inverse(x.mul(2)).add(1));
        const x = deviceGuard(gpu(), square);
        for (let i = 0; i < 3; i++) {
          const result = f(x);
          const expected = tidy(() => inverse(square().mul(2)).add(1));
          const [a, b] = [await result.data(), expected.dataSync()];
          a.forEach((value, j) => void expect(value).toBeCloseTo(b[j]!, 5));
          result.dispose();
          expected.dispose();
        }
        expect(f.stats().breaks).toEqual([]);
        x.dispose();
      });
    });
  });

  describe('deviceGuard', () => {
    it('an increment in place under the CPU guard is seen on the GPU', async () => {
      await leavesNothing(async () => {
        const x = onGpu([0, 0, 0, 0]);
        deviceGuard('cpu', () => x.add_(1));
        expect([...(await x.data())]).toEqual([1, 1, 1, 1]);
        x.dispose();
      });
    });

    it('scaling in place, GPU to CPU to GPU: the written buffer goes back, not the copied operand', async () => {
      await leavesNothing(async () => {
        const x = onGpu([1, 2, 3]);
        x.mul_(2);
        deviceGuard('cpu', () => x.mul_(10));
        x.add_(1);
        expect([...(await x.data())]).toEqual([21, 41, 61]);
        x.dispose();
      });
    });

    it('the CPU computes, and the result goes back: it reads bit for bit what the CPU gives', async () => {
      const values = [0.1, 0.7, 2.3, -1.9];
      const x = onGpu(values);
      const result = deviceGuard('cpu', () => x.exp());
      const own = tidy(() => tensor(values).exp());
      expect(result.device.name).toBe('gpu');
      expect([...(await result.data())]).toEqual([...own.dataSync()]);
      for (const t of [x, own, result]) t.dispose();
    });

    it('without a write in place the operand stays as it is', async () => {
      const x = onGpu([1, 2]);
      const y = deviceGuard('cpu', () => x.mul(5));
      expect([...(await y.data()), ...(await x.data())]).toEqual([5, 10, 1, 2]);
      for (const t of [x, y]) t.dispose();
    });

    it('a write to a view changes its elements alone', async () => {
      await leavesNothing(async () => {
        const x = onGpu([
          [1, 2, 3],
          [4, 5, 6],
        ]);
        const column = x.select(1, 1);
        deviceGuard('cpu', () => column.add_(10));
        expect([...(await x.data())]).toEqual([1, 12, 3, 4, 15, 6]);
        const row = x.narrow(0, 1, 1);
        deviceGuard('cpu', () => row.mul_(2));
        expect([...(await x.data())]).toEqual([1, 12, 3, 8, 30, 12]);
        for (const t of [x, column, row]) t.dispose();
      });
    });

    it('one tensor in two slots is one buffer', async () => {
      await leavesNothing(async () => {
        const x = onGpu([1, 2, 3]);
        deviceGuard('cpu', () => x.mul_(x));
        await gpu().synchronize();
        const transforms: string[] = [];
        const stop = traceLog((line) => transforms.push(line), { modules: ['transform'] });
        const copies = await copiesOf(() => deviceGuard('cpu', () => x.add(x)));
        stop();
        expect(transforms).toEqual([
          'Transform for add from {float32[3], contiguous, gpu} to {float32[3], contiguous, cpu}',
          'Transform for add from {float32[3], contiguous, cpu} to {float32[3], contiguous, gpu}',
        ]);
        expect(copies).toEqual(['gpu->host 12', 'host->cpu 12', 'cpu->host 12', 'host->gpu 12']);
        expect([...(await x.data())]).toEqual([1, 4, 9]);
        x.dispose();
      });
    });

    it('an operand that only gives its shape is not copied', async () => {
      await leavesNothing(async () => {
        const x = onGpu([[1, 2, 3]]);
        const y = onGpu([
          [1, 2, 3],
          [4, 5, 6],
        ]);
        const copies = await copiesOf(() =>
          deviceGuard('cpu', () => bind1(opNamed('sumTo'), [y, x])),
        );
        expect(copies.filter((copy) => copy.startsWith('gpu->host'))).toHaveLength(1);
        for (const t of [x, y]) t.dispose();
      });
    });

    it('ten steps of an optimizer under the CPU guard: no stale value, no byte more', async () => {
      const train = async (guarded: boolean, device: string) => {
        // What others have left to the collector would be freed between two steps.
        for (let i = 0; i < 3; i++) {
          expect(collectGarbage()).toBe(true);
          await macrotask();
        }
        const weight = deviceGuard(device, () => tensor([1, -2, 3])).requiresGrad_();
        const optimizer = new optim.SGD([weight], { lr: 0.1, momentum: 0.9 });
        const bytes: string[] = [];
        for (let step = 0; step < 10; step++) {
          tidy(() => weight.mul(weight).sum().backward());
          if (guarded) deviceGuard('cpu', () => optimizer.step());
          else optimizer.step();
          optimizer.zeroGrad();
          await weight.data();
          bytes.push(allocated().join());
        }
        expect(new Set(bytes.slice(1)).size).toBe(1);
        return [...(await weight.data())];
      };
      const expected = await train(false, 'cpu');
      const actual = await train(true, 'gpu');
      actual.forEach((value, i) => void expect(value).toBeCloseTo(expected[i]!, 5));
    });

    it('what is in flight is in order: a later write on the GPU comes after the read', async () => {
      const x = onGpu([1, 2]);
      const y = deviceGuard('cpu', () => x.mul(3));
      x.fill_(100);
      const z = deviceGuard('cpu', () => x.mul(3));
      expect([...(await y.data()), ...(await z.data())]).toEqual([3, 6, 300, 300]);
      for (const t of [x, y, z]) t.dispose();
    });

    it("under the GPU's guard operands on the CPU are copied there, and the copies are freed", async () => {
      await leavesNothing(async () => {
        const [x, y] = [tensor([1, 2]), onGpu([10, 20])];
        const sum = deviceGuard('gpu', () => x.add(y));
        const square = deviceGuard('gpu:0', () => x.mul(x));
        expect([sum.device.name, square.device.name]).toEqual(['gpu', 'gpu']);
        expect([...(await sum.data()), ...(await square.data())]).toEqual([11, 22, 1, 4]);
        for (const t of [x, y, sum, square]) t.dispose();
      });
    });

    it("under the GPU's guard a tensor on the CPU can't be written to", () => {
      const x = tensor([1, 2]);
      expect(() => deviceGuard('gpu', () => x.add_(1))).toThrow(DeviceError);
      expect(() => deviceGuard('gpu', () => x.add_(1))).toThrow(
        /can't write to a tensor on the CPU/,
      );
      expect([...x.dataSync()]).toEqual([1, 2]);
      x.dispose();
    });

    it('null: ops run where their operands are again', async () => {
      const x = onGpu([2]);
      const before = deviceNamed('gpu');
      const y = deviceGuard('cpu', () => deviceGuard(null, () => x.mul(2)));
      expect(y.device).toBe(before);
      expect([...(await y.data())]).toEqual([4]);
      for (const t of [x, y]) t.dispose();
    });

    it('a captured function has a program per guard', async () => {
      const f = toStatic((x: Tensor) => x.exp().mul(2));
      const x = onGpu([0.1, 0.7]);
      const outside = f(x);
      const inside = deviceGuard('cpu', () => f(x));
      const again = noGrad(() => f(x));
      expect(f.explain({ guards: true }).toString()).toContain(
        'deviceGuard has ops computed on cpu',
      );
      const own = tidy(() => tensor([0.1, 0.7]).exp().mul(2));
      expect([...(await inside.data())]).toEqual([...own.dataSync()]);
      for (const t of [x, outside, inside, again, own]) t.dispose();
    });

    it('deviceGuard in a captured function computes as it does eagerly', async () => {
      const step = (x: Tensor) => {
        const y = x.mul(2);
        const z = deviceGuard('cpu', () => y.exp());
        return z.add(1);
      };
      const f = toStatic(step);
      const x = onGpu([0.1, 0.7]);
      const [a, b] = [f(x), step(x)];
      expect([...(await a.data())]).toEqual([...(await b.data())]);
      for (const t of [x, a, b]) t.dispose();
    });

    /** Copies that a body's op makes, in order, until its result was computed. */
    const copiesOf = async (body: () => Tensor) => {
      const copies: string[] = [];
      const unsubscribe = events.subscribe((event) => {
        if (event.kind === 'copy') copies.push(`${event.from}->${event.to} ${event.bytes}`);
      });
      const result = body();
      await gpu().synchronize();
      unsubscribe();
      result.dispose();
      return copies;
    };
  });
});

describe.skipIf(skipGpu)('gpu/computed-on-cpu: missing kernels are never silent', () => {
  let warnings: string[] = [];
  beforeEach(() => {
    warnings = [];
    vi.spyOn(console, 'warn').mockImplementation((text: string) => void warnings.push(text));
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await destroyGpu();
  });

  const opened = (options: GpuOptions) => {
    useSoftwareAdapter();
    return initGpu(options);
  };

  it('one warning per op, and every launch is counted', async () => {
    const device = await opened({});
    const x = deviceGuard(device, () => square());
    const results = [inverse(x), inverse(x), det(x)];
    for (const result of results) await result.data();
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toMatch(/inverse: the GPU has no kernel for it; the CPU computes it/);
    expect(warnings[1]).toMatch(/det/);
    expect([...device.computedOnCpu]).toEqual([
      ['inverse', 2],
      ['det', 1],
    ]);
    for (const t of [x, ...results]) t.dispose();
  });

  it("missingKernels: 'error' refuses them, and says what to do", async () => {
    const device = await opened({ missingKernels: 'error' });
    const x = deviceGuard(device, () => square());
    expect(() => inverse(x)).toThrow(DeviceError);
    expect(() => inverse(x)).toThrow(
      /inverse: the GPU has no kernel for it[\s\S]*x\.toAsync\('cpu'\)/,
    );
    x.dispose();
  });
});
