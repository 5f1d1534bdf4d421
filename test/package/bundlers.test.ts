import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build as esbuild, transformSync } from 'esbuild';
import { rolldown } from 'rolldown';
import { type Plugin as RollupPlugin, rollup } from 'rollup';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import webpack, { type Configuration, type Stats } from 'webpack';
import { permission } from '../node-options.ts';
import type { Report } from './fixtures/report.ts';
import { installed } from './installed.ts';

let root: string;
let entry: string;
let plugin: typeof import('../../src/plugin/index.ts')['tostatic'];

beforeAll(async () => {
  const { project } = await installed();
  root = join(inject('packageFolder'), 'bundlers');
  entry = join(root, 'src/node.ts');
  const modules = join(root, 'node_modules');
  cpSync(join(project, 'node_modules'), modules, { recursive: true });
  cpSync(join(import.meta.dirname, 'fixtures'), join(root, 'src'), { recursive: true });
  // Its plugin asks Rolldown's compiler, which users of Rolldown have.
  const own = join(import.meta.dirname, '../../node_modules/rolldown');
  symlinkSync(own, join(modules, 'rolldown'));
  const file = join(modules, 'tostatic/dist/src/plugin/index.js');
  const loaded = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as {
    tostatic: typeof plugin;
  };
  plugin = loaded.tostatic;
}, 240_000);

const failOn = (warnings: readonly { readonly message?: string; readonly text?: string }[]) => {
  expect(warnings.map(({ message, text }) => message ?? text)).toEqual([]);
};

/** What Rollup leaves to plugins: types, packages, minifying. */
const forRollup = (): RollupPlugin[] => [
  {
    name: 'resolve',
    resolveId(id) {
      if (id === 'tostatic') return join(root, 'node_modules/tostatic/dist/src/page.js');
      return id.startsWith('node:') ? { id, external: true } : null;
    },
    transform: (code, id) =>
      id.endsWith('.ts')
        ? transformSync(code, { loader: 'ts', target: 'es2022', sourcemap: true, sourcefile: id })
        : null,
  },
  plugin.rollup({ root }) as RollupPlugin,
  {
    name: 'minify',
    renderChunk: (code) => transformSync(code, { minify: true, target: 'es2022' }),
  },
];

const runWebpack = (configuration: Configuration): Promise<Stats> =>
  new Promise((resolve, reject) => {
    webpack(configuration, (error, stats) => {
      if (error || !stats) reject(error ?? new Error('webpack gave nothing'));
      else resolve(stats);
    });
  });

/** Bundles without maps, and returns the file. */
const builds: Readonly<Record<string, () => Promise<string>>> = {
  async esbuild() {
    const outfile = join(root, 'out/esbuild.mjs');
    const options = { bundle: true, minify: true, format: 'esm', target: 'es2022' } as const;
    const plugins = [plugin.esbuild({ root })];
    const { warnings } = await esbuild({ ...options, entryPoints: [entry], outfile, plugins });
    failOn(warnings);
    return outfile;
  },
  async 'esbuild as a classic script'() {
    const outfile = join(root, 'out/esbuild-script.cjs');
    const options = { bundle: true, minify: true, format: 'iife', target: 'es2022' } as const;
    const plugins = [plugin.esbuild({ root })];
    const logOverride = { 'empty-import-meta': 'silent' } as const; // such scripts have no URL
    await esbuild({ ...options, entryPoints: [entry], outfile, plugins, logOverride });
    return outfile;
  },
  // What Node requires, with what the package has for Node alone.
  async 'esbuild for Node, as CommonJS'() {
    const outfile = join(root, 'out/esbuild-node.cjs');
    const options = { bundle: true, platform: 'node', format: 'cjs', target: 'es2022' } as const;
    const plugins = [plugin.esbuild({ root })];
    const { warnings } = await esbuild({ ...options, entryPoints: [entry], outfile, plugins });
    failOn(warnings);
    return outfile;
  },
  async rolldown() {
    const bundle = await rolldown({
      input: entry,
      plugins: [plugin.rolldown({ root })],
      onLog: (_level, log) => failOn([log]),
    });
    await bundle.write({
      dir: join(root, 'out/rolldown'),
      entryFileNames: 'main.mjs',
      minify: true,
    });
    return join(root, 'out/rolldown/main.mjs');
  },
  async rollup() {
    const onwarn = (warning: { readonly message: string }) => failOn([warning]);
    const bundle = await rollup({ input: entry, plugins: forRollup(), onwarn });
    const file = join(root, 'out/rollup.mjs');
    await bundle.write({ file, inlineDynamicImports: true });
    return file;
  },
  async webpack() {
    const { compilation } = await runWebpack({
      mode: 'production',
      target: 'node20',
      context: root,
      entry,
      experiments: { outputModule: true },
      resolve: { extensions: ['.ts', '.js'] },
      module: {
        rules: [
          {
            test: /\.ts$/,
            loader: join(import.meta.dirname, '../plugin/fixtures/esbuild-loader.cjs'),
          },
        ],
      },
      plugins: [plugin.webpack({ root })],
      // Its minifier takes a minute for the whole package; others have shown what minifiers do.
      optimization: { minimize: false },
      output: {
        path: join(root, 'out/webpack'),
        filename: 'main.mjs',
        module: true,
        chunkFormat: 'module',
      },
      performance: false,
    });
    failOn([...compilation.warnings, ...compilation.errors]);
    return join(root, 'out/webpack/main.mjs');
  },
};

describe('the packed package, where nothing can look into functions', () => {
  let first: Report | undefined;
  for (const [name, build] of Object.entries(builds)) {
    test(`bundled by ${name}`, { timeout: 240_000 }, async () => {
      const file = await build();
      const flags = [permission, '--allow-fs-read=*', '--disallow-code-generation-from-strings'];
      const args = ['--no-warnings', ...flags, file];
      const report = JSON.parse(
        execFileSync(process.execPath, args, { encoding: 'utf8' }),
      ) as Report;
      const { mlp, convNet, mlpEager, convNetEager } = report.trainings;
      for (const training of [mlp, convNet]) {
        expect(training).toMatchObject({ breaks: [], fallbacks: 0, eagerKernels: 0 });
        expect(training.graphs).toBe(training.traces);
      }
      expect([mlp.weights, convNet.weights]).toEqual([mlpEager.weights, convNetEager.weights]);
      first ??= report;
      expect(report.trainings).toEqual(first.trainings);
      expect(report.kernel).toEqual(first.kernel);
      expect(report.kernel).toMatchObject({ graphs: 1, breaks: [] });

      // Captured code knows where the user wrote it; a stack of code without a map, where it is.
      const { mistakes } = report;
      expect(mistakes.captured).toMatch(/at: +src\/mistakes\.ts:13:12\n/);
      const [, shown, line, column] = /at: +(\S+):(\d+):(\d+)\n/.exec(mistakes.eager)!;
      expect(shown).toBe(file);
      const text = readFileSync(file, 'utf8').split('\n')[Number(line) - 1]!;
      expect(text.slice(Number(column) - 1).startsWith('matmul(')).toBe(true);
    });
  }
});
