import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { inlineMap } from './inline-map.ts';
import { isIncluded, type PluginOptions } from './options.ts';
import { onOriginalLines } from './original-lines.ts';
import { type CompiledModule, compileWithRolldown, isTyped } from './rolldown-types.ts';
import { transform } from './transform.ts';

interface Loaded {
  readonly contents: string;
  readonly loader: 'js' | 'jsx' | 'ts' | 'tsx';
}

/** The part of Bun's `PluginBuilder` that this plugin uses, in the runtime and in the bundler. */
interface BunBuild {
  onLoad(
    where: { readonly filter: RegExp },
    load: (file: { readonly path: string }) => Loaded | Promise<Loaded>,
  ): void;
}

const modules = /\.[cm]?[jt]sx?$/;
const ownModules = /^(?!.*[\\/]node_modules[\\/]).*\.[cm]?[jt]sx?$/;

/**
 * Bun's runtime resolves synchronously, so there is no hook for resolving: the probe is an export of the package. The
 * hook must return every file that it receives, so the filter excludes installed packages. JavaScript is returned
 * synchronously, for `require`.
 */
export function bunSetup(options: PluginOptions): (build: BunBuild) => void {
  return (build) => {
    const filter = options.exclude === undefined ? ownModules : modules;
    build.onLoad({ filter }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      const unchanged = { contents: text, loader: loaderOf(path) };
      if (!isIncluded(path, options)) return unchanged;
      const instrumented = ({ code, map }: CompiledModule): Loaded => {
        const done = transform(code, path, options, map);
        if (!done) return unchanged;
        // Bun's runtime reads no map of a plugin, and code on its original lines needs none.
        const contents = map
          ? onOriginalLines(done.code, done.map)
          : done.code + inlineMap(done.map);
        return { contents, loader: 'js' };
      };
      if (!isTyped(path)) return instrumented({ code: text, map: undefined, step: undefined });
      const compiled = compileWithRolldown(text, path, undefined, {
        user: 'tostatic.bun()',
        install: 'bun add --dev rolldown',
      });
      return compiled.then(instrumented);
    });
  };
}

const loaderOf = (path: string): Loaded['loader'] =>
  extname(path).replace(/[.cm]/g, '') as Loaded['loader'];
