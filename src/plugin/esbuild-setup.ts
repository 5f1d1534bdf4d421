import { readFile } from 'node:fs/promises';
import { dirname, extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Loader, PluginBuild, TransformOptions } from 'esbuild';
import { inlineMap } from './inline-map.ts';
import { nearestTsconfig } from './nearest-tsconfig.ts';
import { isIncluded, type PluginOptions } from './options.ts';
import { probeFile } from './probe-file.ts';
import { transform } from './transform.ts';

/**
 * esbuild passes files to plugins as they are on disk and has no later hook, so its own `transform` strips types
 * and JSX first. esbuild reads the map comment at the end of the returned text.
 */
export function esbuildSetup(options: PluginOptions): (build: PluginBuild) => void {
  return (build) => {
    build.onResolve({ filter: /^tostatic\/probe$/ }, () => ({ path: fileURLToPath(probeFile) }));
    build.onLoad({ filter: /\.[cm]?[jt]sx?$/ }, async ({ path }) => {
      if (!isIncluded(path, options)) return undefined;
      const text = await readFile(path, 'utf8');
      const tsconfig = await tsconfigOf(build.initialOptions, path);
      const { code, map } = await build.esbuild.transform(text, {
        ...compileOptions(build.initialOptions),
        ...(tsconfig !== undefined && { tsconfigRaw: tsconfig }),
        loader: loaderOf(path),
        sourcefile: path,
        sourcemap: 'external',
        // No engine runs them, and captures can't parse them.
        supported: { decorators: false },
      });
      const done = transform(code, path, options, map);
      if (!done) return undefined;
      return {
        contents: done.code + inlineMap(done.map),
        loader: 'js' as const,
        resolveDir: dirname(path),
      };
    });
  };
}

/** The options that determine how TypeScript and JSX are parsed; the build's other options apply later. */
function compileOptions(options: PluginBuild['initialOptions']): TransformOptions {
  const { jsx, jsxFactory, jsxFragment, jsxImportSource, jsxDev } = options;
  const all = { jsx, jsxFactory, jsxFragment, jsxImportSource, jsxDev };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** `transform` reads no file: without this, decorators and fields would have other semantics than in the build. */
function tsconfigOf(
  { tsconfig, tsconfigRaw }: PluginBuild['initialOptions'],
  path: string,
): TransformOptions['tsconfigRaw'] | Promise<string | undefined> {
  if (tsconfigRaw !== undefined) return tsconfigRaw;
  return tsconfig === undefined ? nearestTsconfig(dirname(path)) : readFile(tsconfig, 'utf8');
}

function loaderOf(path: string): Loader {
  const extension = extname(path);
  if (extension === '.tsx') return 'tsx';
  if (/ts$/.test(extension)) return 'ts';
  return extension === '.jsx' ? 'jsx' : 'js';
}
