import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postedByPage } from '../browser-page.ts';
import { skipGpu } from './open-gpu.ts';

const flags = [
  '--disable-gpu-sandbox',
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
  '--enable-unsafe-webgpu',
  '--use-webgpu-adapter=swiftshader',
];
const folder = fileURLToPath(new URL('.', import.meta.url));

describe.skipIf(skipGpu)('gpu/browser', () => {
  let outDir = '';
  beforeAll(async () => {
    outDir = mkdtempSync(join(tmpdir(), 'tostatic-page-'));
    await build({
      root: folder,
      configFile: false,
      logLevel: 'error',
      build: {
        outDir,
        target: 'es2022',
        minify: true,
        rollupOptions: {
          input: join(folder, 'browser-page.ts'),
          output: { entryFileNames: 'page.js' },
        },
      },
    });
    // Bundling shares two cores with the other test files.
  }, 60_000);
  afterAll(() => rmSync(outDir, { recursive: true, force: true }));

  it('computes in a page over WebGPU, bundled and minified', async () => {
    expect(JSON.parse(await postedByPage(outDir, { flags }))).toEqual({
      product: [42, 96, 96, 231],
      changed: [1, 12, 13, 4, 15, 16],
    });
  });
});
