/** `tostatic/plugin`: makes functions capturable where there is no inspector, as in browsers. */

import { fileURLToPath } from 'node:url';
import type { EncodedSourceMap } from '@jridgewell/remapping';
import { createUnplugin, type UnpluginInstance } from 'unplugin';
import { bunSetup } from './bun-setup.ts';
import { esbuildSetup } from './esbuild-setup.ts';
import { expectPluginOptions, isIncluded, type PluginOptions, pathOf } from './options.ts';
import { probeFile } from './probe-file.ts';
import { chain, compileForRolldown } from './rolldown-types.ts';
import { transform } from './transform.ts';

export type { StoredFunctions } from '../1-capture/stored/stored-functions.ts';
export type { PathPattern, PluginOptions } from './options.ts';
export type { PrintableSourceMap, SourceMapData } from './source-map.ts';
export { type Transformed, transform } from './transform.ts';

/** Members of a transform's context that bundlers provide and unplugin doesn't declare. */
interface BundlerContext {
  /** Rollup, Rolldown, Vite: the map of all steps so far. */
  getCombinedSourcemap?: () => EncodedSourceMap;
  getNativeBuildContext?: (() => { inputSourceMap?: EncodedSourceMap | null }) | undefined;
  warn(message: string): void;
}

/**
 * One plugin for every bundler: `tostatic.vite()`, `.rollup()`, `.rolldown()`, `.esbuild()`,
 * `.webpack()`, `.rspack()`, `.bun()`.
 */
export const tostatic: UnpluginInstance<PluginOptions | undefined> = createUnplugin(
  (userOptions: PluginOptions | undefined, { framework }) => {
    let options = userOptions === undefined ? {} : userOptions;
    expectPluginOptions(options);
    const name = 'tostatic';
    if (framework === 'esbuild') return { name, esbuild: { setup: esbuildSetup(options) } };
    if (framework === 'bun') return { name, bun: { setup: bunSetup(options) } };
    return {
      name,
      // Runs last: the input is plain JavaScript, and the captured code is the code that would have run.
      enforce: 'post',
      vite: {
        // The development server reloads the page when it finds a package to bundle; nothing in the code before this
        // plugin names the probe.
        config: () => ({ optimizeDeps: { exclude: [options.probe ?? 'tostatic/probe'] } }),
        configResolved({ root }) {
          if (options.root === undefined) options = { ...options, root };
        },
      },
      resolveId: (id: string) => (id === 'tostatic/probe' ? fileURLToPath(probeFile) : undefined),
      transformInclude: (id: string) => isIncluded(id, options),
      async transform(code: string, id: string) {
        const incoming = incomingMap(this as BundlerContext);
        try {
          if (framework !== 'rolldown') {
            const done = transform(code, id, options, incoming);
            return done && result(done.code, done.step as EncodedSourceMap);
          }
          const plain = await compileForRolldown(code, pathOf(id), incoming);
          const done = transform(plain.code, id, options, plain.map);
          if (!done) return undefined;
          const step = chain(done.step as EncodedSourceMap, plain.step);
          return { ...result(done.code, step), moduleType: 'js' };
        } catch (error) {
          // Warns, since functions without probes can't be captured at run time.
          this.warn(`${pathOf(id)} is left as it is: ${String(error)}`);
          return undefined;
        }
      },
    };
  },
);

/** A source map as bundlers declare it: `file` is omitted rather than null. */
type BundlerMap = Omit<EncodedSourceMap, 'file' | 'version'> & { version: 3; file?: string };

const result = (code: string, map: EncodedSourceMap | undefined) => ({
  code,
  map: map as BundlerMap,
});

function incomingMap(context: BundlerContext): EncodedSourceMap | undefined {
  if (context.getCombinedSourcemap) return context.getCombinedSourcemap();
  return context.getNativeBuildContext?.().inputSourceMap ?? undefined;
}
