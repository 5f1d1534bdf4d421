/** Pages share work where they are isolated from other origins, and compute alone elsewhere. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postedByPage } from '../browser-page.ts';

let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tostatic-page-'));
  await build({
    entryPoints: [join(import.meta.dirname, 'fixtures/page.ts')],
    outfile: join(folder, 'page.js'),
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    external: ['gpu.js', 'webgpu', 'node:*'],
    logLevel: 'error',
  });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const headers = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
};

describe.skipIf(process.env['TOSTATIC_SKIP_GPU'] === '1')('threads/a page', () => {
  it.each(['chromium', 'firefox'] as const)(
    'that is isolated shares work, in %s',
    { timeout: 120_000 },
    async (browser) => {
      const policy = "script-src 'self' 'wasm-unsafe-eval'; worker-src blob:";
      const report: unknown = JSON.parse(await postedByPage(folder, { browser, headers, policy }));
      expect(report).toEqual({ isolated: true, shared: true, isSame: true });
    },
  );

  it('that is not isolated computes on one thread', { timeout: 120_000 }, async () => {
    const report: unknown = JSON.parse(await postedByPage(folder));
    expect(report).toEqual({ isolated: false, shared: false, isSame: true });
  });
});
