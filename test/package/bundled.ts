import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'vite';
import { inject } from 'vitest';
import { once } from './install.ts';
import { installed } from './installed.ts';

/**
 * The user's project of `fixtures` as Vite bundles it for production, minified, with the package from its
 * tarball: `page.js` for a page and `node.js` for Node, which share everything else.
 */
export async function bundled(): Promise<{ readonly folder: string; readonly project: string }> {
  const { project } = await installed();
  const folder = join(project, 'dist');
  await once(join(inject('packageFolder'), 'bundled'), async () => {
    cpSync(join(import.meta.dirname, 'fixtures'), join(project, 'src'), { recursive: true });
    const plugin = join(project, 'node_modules/tostatic/dist/src/plugin/index.js');
    const { tostatic } = (await import(
      /* @vite-ignore */ pathToFileURL(plugin).href
    )) as typeof import('../../src/plugin/index.ts');
    await build({
      root: project,
      configFile: false,
      logLevel: 'error',
      plugins: [tostatic.vite()],
      build: {
        outDir: folder,
        target: 'es2022',
        sourcemap: true,
        chunkSizeWarningLimit: 4096,
        rollupOptions: {
          input: { page: join(project, 'src/page.ts'), node: join(project, 'src/node.ts') },
          output: { entryFileNames: '[name].js' },
        },
      },
    });
  });
  return { folder, project };
}
