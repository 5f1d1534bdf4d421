/** The published package beside onnxruntime-web, in a page that Vite has built. */

import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'vite';
import { describe, expect, it } from 'vitest';
import type { OnnxruntimeReport } from '../../src/onnxruntime/report.ts';
import { postedByPage } from '../browser-page.ts';
import { npmPackage } from '../export/npm-package.ts';
import { withInterop } from '../export/python.ts';
import { installed } from './installed.ts';

const onnxruntime = withInterop('onnxruntime-web in a page', () =>
  npmPackage('onnxruntime-web@1.30.0'),
);

const flags = [
  '--disable-gpu-sandbox',
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
  '--enable-unsafe-webgpu',
  '--use-webgpu-adapter=swiftshader',
];

interface Trained {
  readonly report: OnnxruntimeReport;
  /** Of the parameters. */
  readonly bytes: number;
}

interface Posted {
  readonly eager: readonly number[];
  readonly sum: number;
  readonly wasm: Trained;
  readonly webgpu: Trained;
  /** On WebGPU, with results that stay there. */
  readonly kept: Trained;
}

describe.skipIf(!onnxruntime)('in a page', () => {
  it('whole training steps run on WebAssembly and on WebGPU', { timeout: 240_000 }, async () => {
    const { project } = await installed();
    const page = join(project, 'onnxruntime-web-page.js');
    cpSync(join(import.meta.dirname, 'onnxruntime-web-page.js'), page);
    const plugin = join(project, 'node_modules/tostatic/dist/src/plugin/index.js');
    const { tostatic } = (await import(
      /* @vite-ignore */ pathToFileURL(plugin).href
    )) as typeof import('../../src/plugin/index.ts');
    const outDir = join(project, 'dist-onnxruntime');
    await build({
      root: project,
      configFile: false,
      logLevel: 'error',
      plugins: [tostatic.vite()],
      resolve: {
        alias: {
          'onnxruntime-web/webgpu': join(onnxruntime!, 'dist/ort.webgpu.bundle.min.mjs'),
        },
      },
      build: {
        outDir,
        target: 'es2022',
        chunkSizeWarningLimit: 4096,
        rollupOptions: { input: page, output: { entryFileNames: 'page.js' } },
      },
    });
    const posted = await postedByPage(outDir, { flags, timeout: 120_000 });
    const { eager, sum, wasm, webgpu, kept } = JSON.parse(posted) as Posted;
    const losses = eager.map((loss) => expect.closeTo(loss, 4));
    const whole = { losses, breaks: 0, fallbacks: 0, sum: expect.closeTo(sum, 3), isSame: true };
    expect({ wasm, webgpu, kept }).toMatchObject({ wasm: whole, webgpu: whole, kept: whole });
    expect(wasm.report).toMatchObject({ graphs: 1, byKernels: 0 });
    // Its MaxPool of WebGPU gives no places of the maxima, which shows when it runs.
    const reasons = { "onnxruntime's MaxPool refuses what it is given": 1 };
    expect(webgpu.report).toMatchObject({ graphs: 1, byKernels: 1, reasons });
    expect(kept.report).toMatchObject({ graphs: 1, byKernels: 1, reasons });
    // Parameters and momenta.
    expect(webgpu.report.arrays.onGpu).toBe(0);
    expect(kept.report.arrays.onGpu).toBe(2 * kept.bytes);
    expect(kept).toMatchObject({ left: 0 });
  });
});
