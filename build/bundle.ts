import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';
import { ownEdges, ownProbes, ownUrls } from './own-code.ts';

/** Modules that are loaded by their own name: by `package.json`, or by their URL in the code. */
const entries = [
  'runtime/index',
  'runtime/data/mnist',
  'runtime/data/worker-main',
  'src/index',
  'src/1-capture/probe',
  'src/plugin/index',
  'src/plugin/node-loader',
  'src/plugin/node-hooks',
  'src/cli/main',
  'src/cli/compare/way-process',
  'src/cli/run/run-worker',
];

const notInPages = new Set(['gl', 'webgpu', 'os', 'worker_threads']);

/**
 * gpu.js takes these where it finds them, for backends that are never used here: its WebGPU backend gets the
 * device from the page, or from where the user installed it.
 */
const unused: Plugin = {
  name: 'unused',
  resolveId: (id) => (notInPages.has(id) ? `\0${id}` : null),
  load: (id) => (notInPages.has(id.slice(1)) ? 'throw new Error("left out");' : null),
};

/**
 * Bundles what the compiler wrote. Dependencies of the package and Node's modules stay outside.
 *
 * @returns the paths of all modules that were bundled.
 */
export async function bundle(root: string, compiled: string, dist: string): Promise<string[]> {
  const manifest = readFileSync(join(root, 'package.json'), 'utf8');
  const { dependencies } = JSON.parse(manifest) as { dependencies: Record<string, string> };
  const bundled = await rolldown({
    input: Object.fromEntries(entries.map((entry) => [entry, join(compiled, `${entry}.js`)])),
    external: [/^node:/, 'esbuild', ...Object.keys(dependencies)],
    // For pages as well as for Node: what a dependency has for one of them alone stays out.
    platform: 'neutral',
    resolve: { mainFields: ['module', 'main'], conditionNames: ['import', 'browser', 'default'] },
    plugins: [unused, ownProbes(compiled), ownUrls(compiled), ownEdges(compiled)],
  });
  const { output } = await bundled.write({
    dir: dist,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    // Smaller and quicker to load, with all names as they are.
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
  });
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
  return modules.filter((id) => !id.startsWith('\0'));
}
