import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ownProbes } from '../../../build/own-code.ts';
import { tostatic } from '../../../src/plugin/index.ts';
import { postedByPage } from '../../browser-page.ts';
import { skipGpu } from '../open-gpu.ts';
import type { Training } from './page/models.ts';

const root = join(import.meta.dirname, 'page');
const repository = join(import.meta.dirname, '../../..');
const probe = 'src/1-capture/marked/probe.ts';
const flags = [
  '--disable-gpu-sandbox',
  '--use-gl=angle',
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
];

interface Trainings {
  readonly cpu: Training;
  readonly eager: Training;
  readonly captured: Training;
}

interface Report {
  readonly api: string;
  readonly adapter: string;
  readonly kernelStats: { readonly compiled: number; readonly wgsl: number };
  readonly before: { readonly allocated: number; readonly computedOnCpu: readonly string[] };
  readonly after: { readonly reserved: number; readonly textures: number };
  readonly afterLoss: readonly number[];
  readonly differences: Readonly<Record<string, string>>;
  readonly trainings: Readonly<Record<'MLP' | 'ConvNet', Trainings>>;
  readonly refusals: Readonly<Record<string, string>>;
}

describe.skipIf(skipGpu)('gpu/webgl: a page without WebGPU', () => {
  let outDir = '';
  let report: Report;
  beforeAll(async () => {
    outDir = mkdtempSync(join(tmpdir(), 'tostatic-page-'));
    await build({
      root,
      configFile: false,
      logLevel: 'error',
      plugins: [
        // The library's own modules, as in the published package.
        { ...ownProbes(repository, probe), enforce: 'post' as const },
        tostatic.vite({ include: `${root}/`, probe: join(repository, probe) }),
      ],
      build: {
        outDir,
        target: 'es2022',
        minify: true,
        rollupOptions: {
          input: join(root, 'page.ts'),
          output: { entryFileNames: 'page.js' },
        },
      },
    });
    report = JSON.parse(await postedByPage(outDir, { flags })) as Report;
  }, 120_000);
  afterAll(() => rmSync(outDir, { recursive: true, force: true }));

  it("init('gpu') takes WebGL2, and kernels of gpu.js alone", () => {
    expect(report.api).toBe('webgl2');
    expect(report.adapter).toContain('ANGLE');
    expect(report.kernelStats.compiled).toBeGreaterThan(50);
    expect(report.kernelStats.wgsl).toBe(0);
  });

  it('ops, gradients, views and writes in place give what the CPU gives', () => {
    expect(report.differences).toEqual({});
    expect(report.before.computedOnCpu).toEqual(['cummax']);
  });

  it.each(['MLP', 'ConvNet'] as const)(
    '%s trains as on the CPU, peaks where it was predicted, and leaks nothing',
    (name) => {
      const { cpu, eager, captured } = report.trainings[name];
      expect(cpu.losses.at(-1)!).toBeLessThan(cpu.losses[0]! * 0.8);
      for (const { losses, allocated, reserved, live } of [eager, captured]) {
        cpu.losses.forEach((loss, i) => {
          expect(Math.abs(losses[i]! - loss)).toBeLessThan(1e-5);
        });
        expect(allocated).toEqual(cpu.allocated);
        expect(reserved).toHaveLength(1);
        expect(live[0]).toBeGreaterThan(0);
        expect(live[1]).toBe(live[0]);
      }
      expect(captured.breaks).toBe(0);
      expect(captured.predictedPeak).toBeGreaterThan(0);
      expect(captured.peak).toBe(captured.predictedPeak);
      expect(captured.losses.slice(0, eager.losses.length)).toEqual(eager.losses);
    },
  );

  it('gives everything back', () => {
    expect(report.before.allocated).toBe(0);
    expect(report.after).toEqual({ reserved: 0, textures: 0 });
  });

  it('refuses by name what it can not do', () => {
    expect(report.refusals).toEqual({
      'software renderer': 'DeviceError: gpu: WebGL2 computes on the CPU here',
      'kernels in WGSL': 'DeviceError: gpu: WebGL2 has no kernels in WGSL',
      'another API beside it': 'DeviceError: gpu: the device is open over webgl2',
      'a tensor of too many elements':
        'OutOfMemoryError: gpu: one tensor is larger than the GPU allows for a buffer',
      'half precision': 'DTypeError: gpu: float16 is not available on the GPU',
      'a read at once': 'DeviceError: dataSync: a GPU can only be read asynchronously',
      'a write in place without memory for it': 'OutOfMemoryError: gpu: out of memory on the GPU',
      'a tensor after shutdown': 'DeviceError: allocation: the GPU was shut down',
      'the promise of its loss': 'the context was lost',
      'a read after the loss of the context': 'DeviceError: data: the GPU was lost',
      'an op after it': 'DeviceError: allocation: the GPU was lost',
      'a tensor after it': 'DeviceError: allocation: the GPU was lost',
    });
  });

  it('opens another context after the loss of one', () => {
    expect(report.afterLoss).toEqual([2, 2, 2]);
  });
});
