import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'vite';
import { afterAll, describe, expect, test } from 'vitest';
import { tostatic } from '../../src/plugin/index.ts';
import { postedByPage } from '../browser-page.ts';

const root = join(import.meta.dirname, 'fixtures');
const folder = mkdtempSync(join(tmpdir(), 'tostatic-page-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// The same switch as for the tests on a GPU: both need Chromium.
describe.skipIf(process.env['TOSTATIC_SKIP_GPU'] === '1')('in a page', () => {
  for (const minify of [true, false]) {
    test(`captures, ${minify ? 'minified' : 'as it is'}`, { timeout: 120_000 }, async () => {
      const outDir = join(folder, String(minify));
      await build({
        root,
        configFile: false,
        logLevel: 'error',
        plugins: [tostatic.vite()],
        build: {
          outDir,
          // Not minified, `using` is left to the engine.
          target: minify ? 'es2022' : 'esnext',
          minify,
          rollupOptions: {
            input: join(root, 'page-main.ts'),
            output: { entryFileNames: 'page.js' },
          },
        },
      });
      const report = JSON.parse(await postedByPage(outDir, { flags: ['--disable-gpu'] })) as object;
      expect(report).toMatchObject({
        equal: [true, true],
        gradient: [4, 4],
        counts: { fallbacks: [] },
        held: {
          equal: true,
          closed: ['log'],
          eagerly: ['log'],
          breaks: [],
          fallbacks: [],
          graphs: 1,
        },
        breaks: expect.arrayContaining(['other.ts:7:7']),
      });
    });
  }
});
