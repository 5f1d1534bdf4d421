/** `tostatic/deferred` in Chromium, bundled by Vite from the packed package. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { describe, expect, it } from 'vitest';
import { postedByPage } from '../browser-page.ts';
import { installed } from './installed.ts';

const page = `
  import { breakGraph, toStatic } from 'tostatic/deferred';
  import { Dropout, Linear, ReLU, Sequential } from 'tostatic/nn';
  import { Adam } from 'tostatic/optim';
  import { randn, seed } from 'tostatic/runtime';

  const downloads = () =>
    performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname);

  function training(wrap) {
    seed(7);
    const model = new Sequential(new Linear(6, 8), new ReLU(), new Dropout(0.2), new Linear(8, 1));
    const optimizer = new Adam(model.parameters(), { lr: 0.05 });
    const step = wrap((x, y) => {
      const loss = model.forward(x).sub(y).square().mean();
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return loss;
    });
    return { step, run: (count) => Array.from({ length: count }, () => step(randn([4, 6]), randn([4, 1])).itemSync()) };
  }

  const eager = training((step) => step).run(8);
  const { step, run } = training((step) => toStatic(step));
  const first = run(1);
  // What the first step has requested is not there before the page waits.
  const before = downloads();
  const early = run(2);
  const told = step.explain();
  await step.ready();
  const late = run(5);
  const broken = toStatic((x) => { breakGraph(); return x; }, { fullGraph: true });
  let refused = 'nothing';
  try { broken(randn([1])); } catch (error) { refused = error.name; }
  const report = { eager, losses: [...first, ...early, ...late], before, after: downloads(), told, stats: step.stats(), refused };
  await fetch('/report', { method: 'POST', body: JSON.stringify(report) });
`;

interface Report {
  readonly eager: readonly number[];
  readonly losses: readonly number[];
  /** Paths of the files that the page had downloaded after its first step, and in the end. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly told: string;
  readonly stats: object;
  readonly refused: string;
}

async function bundle(): Promise<string> {
  const { project } = await installed();
  const root = join(project, 'deferred');
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, 'page.js'), page);
  const plugin = join(project, 'node_modules/tostatic/dist/src/plugin/index.js');
  const { tostatic } = (await import(
    /* @vite-ignore */ pathToFileURL(plugin).href
  )) as typeof import('../../src/plugin/index.ts');
  const outDir = join(root, 'dist');
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    plugins: [tostatic.vite()],
    build: {
      outDir,
      target: 'es2022',
      chunkSizeWarningLimit: 4096,
      rollupOptions: {
        input: { page: join(root, 'page.js') },
        output: { entryFileNames: '[name].js' },
      },
    },
  });
  return outDir;
}

describe.skipIf(process.env['TOSTATIC_SKIP_GPU'] === '1')('a page', () => {
  it('steps before it has the compiler, and compiles afterwards, to the same bits', {
    timeout: 240_000,
  }, async () => {
    const folder = await bundle();
    const policy = "script-src 'self' 'wasm-unsafe-eval'";
    const report = JSON.parse(await postedByPage(folder, { policy })) as Report;
    expect(report.losses).toEqual(report.eager);
    expect(report.told).toContain('3 calls, all eager');
    expect(report.stats).toMatchObject({
      ...{ calls: 8, coldCalls: 3, translations: 1, graphs: 1 },
      ...{ breaks: [], fallbacks: [] },
    });
    expect(report.refused).toBe('FullGraphError');
    const kilobytes = (paths: readonly string[]) =>
      [...new Set(paths)]
        .filter((path) => path.endsWith('.js') && path !== '/errors.js')
        .reduce((sum, path) => sum + gzipSync(readFileSync(join(folder, path))).length, 0) / 1e3;
    expect(kilobytes(report.before), `${report.before}`).toBeLessThan(200);
    expect(kilobytes(report.after)).toBeGreaterThan(400);
  });
});
