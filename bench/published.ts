/** Programs of benchmarks that import the published files, as an application does. Run `npm run build` first. */

import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

/** Bundles a file of this folder, without this package's own files. The result is removed when the process exits. */
export async function programOf(entry: string): Promise<string> {
  // Inside the package, where its own name resolves to the published files.
  const folder = mkdtempSync(join(import.meta.dirname, '.published-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const program = join(folder, 'program.mjs');
  await build({
    entryPoints: [join(import.meta.dirname, entry)],
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'esm',
    plugins: [
      {
        name: 'published',
        setup({ onResolve }) {
          onResolve({ filter: /src\/index\.ts$/ }, () => ({ path: 'tostatic', external: true }));
        },
      },
    ],
  });
  return program;
}
