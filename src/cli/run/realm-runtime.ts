import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { BuildOptions } from 'esbuild';
import { outsideModules } from '../../vm/realm/outside-modules.ts';

const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';

/**
 * The text of `src/vm/realm/script-steps.ts` with its imports, as the body of a function of `require` and
 * `exports`.
 */
export async function realmRuntime(): Promise<string> {
  const prebuilt = new URL('./realm-runtime.txt', import.meta.url);
  if (existsSync(prebuilt)) return readFileSync(prebuilt, 'utf8');
  const entry = `../../vm/realm/script-steps.${extension}`;
  return bundleRealm(fileURLToPath(new URL(entry, import.meta.url)));
}

/** Bundled once when the package is built, or at every start when run from the sources. */
export async function bundleRealm(entry: string): Promise<string> {
  const pattern = new RegExp(`/(${outsideModules.join('|')})\\.[jt]s$`);
  return bundle({
    entryPoints: [entry],
    plugins: [
      {
        name: 'outside',
        setup({ onResolve }) {
          onResolve({ filter: pattern }, ({ path }) => {
            return { path: pattern.exec(path)![1]!, external: true };
          });
        },
      },
    ],
  });
}

/** The thread's program: its file, or its text if only the main thread can read TypeScript. */
export async function workerProgram(): Promise<{ program: URL | string; eval: boolean }> {
  const program = new URL(`./run-worker.${extension}`, import.meta.url);
  if (extension === 'js') return { program, eval: false };
  const entryPoints = [fileURLToPath(program)];
  return { program: await bundle({ entryPoints, platform: 'node' }), eval: true };
}

async function bundle(options: BuildOptions): Promise<string> {
  const { build } = await import('esbuild');
  const common = {
    bundle: true,
    write: false,
    format: 'cjs',
    target: 'es2022',
    // `runtime/errors/own-code.ts` reads the address of its module if there is one.
    logOverride: { 'empty-import-meta': 'silent' },
  } as const;
  const { outputFiles } = await build({ ...common, ...options, write: false });
  return outputFiles[0]!.text;
}
