import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { originalPositionFor, TraceMap } from '@jridgewell/trace-mapping';
import { build as esbuild, transformSync } from 'esbuild';
import { rolldown } from 'rolldown';
import { type RollupLog, type Plugin as RollupPlugin, rollup } from 'rollup';
import { createServer, build as vite } from 'vite';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import webpack, { type Configuration as WebpackConfiguration } from 'webpack';
import { tostatic } from '../../src/plugin/index.ts';
import { permission } from '../node-options.ts';
import { withoutInspector } from './load-module.ts';

const root = join(import.meta.dirname, 'fixtures');
const entry = join(root, 'node-main.ts');
const folder = mkdtempSync(join(tmpdir(), 'tostatic-bundles-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The package as one file, as installed: what bundlers that are slow with many files leave outside. */
const installed = join(folder, 'node_modules', 'tostatic.mjs');
beforeAll(async () => {
  await esbuild({
    entryPoints: [join(root, '../../../src/index.ts')],
    outfile: installed,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'es2022',
    external,
  });
}, 60_000);

/** Loaded where a GPU is asked for. */
const external = ['gpu.js', 'webgpu', 'esbuild', 'commander'];

const builds: Record<string, (file: string) => Promise<unknown>> = {
  vite: (file) =>
    vite({
      root,
      configFile: false,
      logLevel: 'error',
      plugins: [tostatic.vite()],
      build: {
        outDir: join(file, '..'),
        emptyOutDir: false,
        target: 'es2022',
        minify: true,
        sourcemap: true,
        rollupOptions: { input: entry, output: { entryFileNames: 'vite.mjs' } },
      },
    }),
  esbuild: (outfile) =>
    esbuild({
      entryPoints: [entry],
      outfile,
      bundle: true,
      minify: true,
      sourcemap: true,
      format: 'esm',
      target: 'es2022',
      plugins: [tostatic.esbuild({ root })],
      logLevel: 'error',
    }),
  // Rollup's plugin interface, with TypeScript built in.
  rolldown: async (file) => {
    const bundle = await rolldown({ input: entry, plugins: [tostatic.rolldown({ root })] });
    await bundle.write({ file, minify: true, sourcemap: true });
  },
  rollup: async (file) => {
    const bundle = await rollup({
      input: entry,
      external,
      plugins: [packages, typescript, tostatic.rollup({ root }), minifier],
      onwarn: failOnWarning,
    });
    await bundle.write({ file, format: 'es', sourcemap: true, inlineDynamicImports: true });
  },
  webpack: async (file) => {
    const { warnings, errors } = await runWebpack({
      mode: 'production',
      target: 'node20',
      context: root,
      entry,
      devtool: 'source-map',
      experiments: { outputModule: true },
      externalsType: 'module',
      // All of the package in one module takes webpack's minifier half a minute.
      externals: { '../../../src/index.ts': installed },
      resolve: { extensions: ['.ts', '.js'] },
      module: { rules: [{ test: /\.ts$/, loader: join(root, 'esbuild-loader.cjs') }] },
      plugins: [tostatic.webpack({ root })],
      output: {
        path: join(file, '..'),
        filename: 'webpack.mjs',
        module: true,
        chunkFormat: 'module',
        devtoolModuleFilenameTemplate: '[absolute-resource-path]',
      },
      optimization: { splitChunks: false },
      performance: false,
    });
    expect([...warnings, ...errors].map(({ message }) => message)).toEqual([]);
  },
};

const failOnWarning = ({ message }: RollupLog) => {
  throw new Error(message);
};

/** Rollup compiles nothing by itself, and looks into no package. */
const typescript: RollupPlugin = {
  name: 'typescript',
  transform(code, id) {
    if (!id.endsWith('.ts')) return null;
    const options = { loader: 'ts', target: 'es2022', sourcemap: true, sourcefile: id } as const;
    return transformSync(code, options);
  },
};

const packages: RollupPlugin = {
  name: 'packages',
  resolveId(id) {
    if (id.endsWith('src/index.ts')) return { id: installed, external: 'absolute' };
    if (/^[./]/.test(id)) return null;
    return id.startsWith('node:') ? { id, external: true } : null;
  },
};

const minifier: RollupPlugin = {
  name: 'minifier',
  renderChunk: (code) => transformSync(code, { minify: true, sourcemap: true, target: 'es2022' }),
};

function runWebpack(configuration: WebpackConfiguration): Promise<WebpackResult> {
  return new Promise((resolve, reject) => {
    webpack(configuration, (error, stats) => {
      if (error || !stats) reject(error ?? new Error('webpack gave nothing'));
      else resolve(stats.compilation);
    });
  });
}

interface WebpackResult {
  readonly warnings: readonly Error[];
  readonly errors: readonly Error[];
}

const lines = readFileSync(join(root, 'model.ts'), 'utf8').split('\n');
const lineOf = (text: string) => lines.findIndex((line) => line.includes(text)) + 1;

describe('bundled, minified, and run where nothing can look into functions', () => {
  for (const [name, build] of Object.entries(builds)) {
    test(name, { timeout: 120_000 }, async () => {
      const file = join(folder, `${name}.mjs`);
      await build(file);
      // As under a strict content security policy: no `eval` anywhere.
      const flags = [
        permission,
        '--allow-fs-read=*',
        '--no-warnings',
        '--disallow-code-generation-from-strings',
      ];
      const printed = execFileSync(process.execPath, [...flags, file], { encoding: 'utf8' });
      const report = JSON.parse(printed) as Record<string, unknown>;
      expect(report).toMatchObject({
        equal: [true, true],
        gradient: [4, 4],
        counts: { fallbacks: [] },
        broken: 10,
      });
      // Where the user wrote it, with the types: not where it is in the bundle.
      expect(report['breaks']).toContain('other.ts:7:7');
      expect(report['explained']).toContain('scale === 0.5');
      expect(report['explained']).toMatch(/^step: /); // not what the minifier calls it
      const decided = lineOf('return twice(');
      const both = `(model.ts:${decided}:31 and model.ts:${decided + 1}:3)`;
      const refused = report['refused'] as Error;
      expect(refused.name).toBe('FullGraphError');
      expect(refused.message).toMatch(/^uneven is not one program: /);
      expect(refused.message).toContain(`one object on one path and two on another ${both}`);
      expect(refused.message).toContain(
        'if (x.sum().itemSync() > 0) return twice([x.mul(2)]);  <--- HERE',
      );
      expect(refused.message).toContain(`at:       model.ts:${decided}:7\n`);

      const code = readFileSync(file, 'utf8');
      const map = new TraceMap(readFileSync(`${file}.map`, 'utf8'));
      const at = (text: string) => {
        const before = code.slice(0, code.indexOf(text)).split('\n');
        const found = originalPositionFor(map, {
          line: before.length,
          column: before.at(-1)!.length,
        });
        return `${found.source?.split('/').at(-1)}:${found.line}`;
      };
      expect(at('.matmul(this.weight)')).toBe(`model.ts:${lineOf('x.matmul(this.weight)')}`);
    });
  }
});

describe('Vite’s development server', () => {
  afterEach(() => void vi.restoreAllMocks());

  test('serves modules with probes, also to its own runner', { timeout: 120_000 }, async () => {
    const server = await createServer({
      root,
      configFile: false,
      logLevel: 'error',
      plugins: [tostatic.vite()],
      server: { middlewareMode: true, ws: false },
      optimizeDeps: { noDiscovery: true },
    });
    try {
      // Discovered later, it would be bundled while the page runs, which reloads the page.
      expect(server.config.optimizeDeps.exclude).toContain('tostatic/probe');
      const served = await server.transformRequest('/model.ts');
      expect(served?.code).toMatch(/^import\{probe as __tostatic\}from"[^"]*\/probe\.[jt]s";/);
      const module = (await server.ssrLoadModule('/model.ts')) as { report(): object };
      withoutInspector();
      expect(module.report()).toMatchObject({
        equal: [true, true],
        counts: { fallbacks: [] },
        breaks: expect.arrayContaining(['other.ts:7:7']),
      });
    } finally {
      await server.close();
    }
  });
});
