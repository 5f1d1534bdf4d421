/**
 * `tostatic/plugin/loader`: the build plugin as a loader, for Turbopack (Next.js), which has no plugins. Loaders
 * run before its compiler, so Rolldown's compiler is called here for TypeScript and JSX.
 */

import type { EncodedSourceMap } from '@jridgewell/remapping';
import { expectPluginOptions, isIncluded, type PluginOptions } from './options.ts';
import { compileWithRolldown } from './rolldown-types.ts';
import { transform } from './transform.ts';

/** `this` of a loader in webpack and Turbopack. */
interface LoaderContext {
  readonly resourcePath: string;
  getOptions(): PluginOptions;
  async(): LoaderCallback;
}

type LoaderCallback = (error: Error | null, code?: string, map?: object) => void;

/** In: a module as the user wrote it. Out: the module with probes; modules without functions are unchanged. */
// biome-ignore lint/style/noDefaultExport: bundlers call the default export of a loader
export default async function tostaticLoader(
  this: LoaderContext,
  code: string,
  incoming?: EncodedSourceMap,
): Promise<void> {
  const done = this.async();
  try {
    const { resourcePath: path } = this;
    const options = this.getOptions();
    expectPluginOptions(options);
    if (!isIncluded(path, options)) return done(null, code, incoming);
    // Next.js allows JSX in .js files.
    const named = path.replace(/\.[cm]?js$/, '.jsx');
    const plain = await compileWithRolldown(code, named, incoming, {
      user: 'tostatic/plugin/loader',
      install: 'npm install --save-dev rolldown, and remove .next',
    });
    const found = transform(plain.code, path, options, plain.map);
    if (!found) return done(null, code, incoming);
    done(null, found.code, JSON.parse(found.map.toString()) as object);
  } catch (error) {
    done(error instanceof Error ? error : new Error(String(error)));
  }
}
