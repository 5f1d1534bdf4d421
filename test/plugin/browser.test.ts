import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'vite';
import { afterAll, describe, expect, test } from 'vitest';
import { tostatic } from '../../src/plugin/index.ts';

const chromium = '/usr/bin/chromium';
const root = join(import.meta.dirname, 'fixtures');
const folder = mkdtempSync(join(tmpdir(), 'tostatic-page-'));
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }));

// The same switch as for the tests on a GPU: both need Chromium.
describe.skipIf(process.env['TOSTATIC_SKIP_GPU'] === '1')('in a page', () => {
  for (const minify of [true, false]) {
    test(`captures, ${minify ? 'minified' : 'as it is'}`, { timeout: 120_000 }, async () => {
      if (!existsSync(chromium)) throw new Error(`no ${chromium}: apt-get install chromium`);
      const outDir = join(folder, String(minify));
      await build({
        root,
        configFile: false,
        logLevel: 'error',
        plugins: [tostatic.vite()],
        build: {
          outDir,
          target: 'es2022',
          minify,
          rollupOptions: {
            input: join(root, 'page-main.ts'),
            output: { entryFileNames: 'page.js' },
          },
        },
      });
      // Inline, as pages from files may load no modules.
      const script = readFileSync(join(outDir, 'page.js'), 'utf8').replaceAll(
        '</script',
        '<\\/script',
      );
      const page = join(outDir, 'page.html');
      writeFileSync(page, `<body><script type="module">${script}</script></body>`);
      const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--dump-dom'];
      const profile = `--user-data-dir=${join(outDir, 'profile')}`;
      const dom = execFileSync(chromium, [...flags, profile, `file://${page}`], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
        timeout: 60_000,
      });
      const text = /<body>(.*)<\/body>/s.exec(dom)?.[1] ?? '';
      const report = JSON.parse(text.replaceAll('&gt;', '>').replaceAll('&lt;', '<')) as object;
      expect(report).toMatchObject({
        equal: [true, true],
        gradient: [4, 4],
        counts: { fallbacks: [] },
        breaks: expect.arrayContaining(['other.ts:7:7']),
      });
    });
  }
});
