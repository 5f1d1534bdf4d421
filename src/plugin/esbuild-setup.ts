import { readFile } from 'node:fs/promises';
import { dirname, extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Loader, PluginBuild, TransformOptions } from 'esbuild';
import { inlineMap } from './inline-map.ts';
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
      const { code, map } = await build.esbuild.transform(text, {
        ...compileOptions(build.initialOptions),
        loader: loaderOf(path),
        sourcefile: path,
        sourcemap: 'external',
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
function compileOptions(given: PluginBuild['initialOptions']): TransformOptions {
  const { jsx, jsxFactory, jsxFragment, jsxImportSource, jsxDev, tsconfigRaw } = given;
  const all = { jsx, jsxFactory, jsxFragment, jsxImportSource, jsxDev, tsconfigRaw };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

function loaderOf(path: string): Loader {
  const extension = extname(path);
  if (extension === '.tsx') return 'tsx';
  if (/ts$/.test(extension)) return 'ts';
  return extension === '.jsx' ? 'jsx' : 'js';
}
