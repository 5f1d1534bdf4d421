import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';
import { ownEdges, ownProbes } from '../../build/own-code.ts';
import { tostatic } from '../../src/plugin/index.ts';
import { digitsAsset } from './digits-asset.ts';

const repository = fileURLToPath(new URL('../../', import.meta.url));

const probes = () => [
  // As in the published package: stacks show the user's lines, and the library's own modules have probes.
  ownEdges(repository),
  { ...ownProbes(repository, 'src/1-capture/marked/probe.ts'), enforce: 'post' as const },
  // The training step of the worker.
  tostatic.vite({
    include: ['/playground/worker/', '/mnist/models'],
    probe: `${repository}src/1-capture/marked/probe.ts`,
  }),
];

export default defineConfig({
  root: fileURLToPath(new URL('./', import.meta.url)),
  base: './',
  plugins: [digitsAsset(), ...probes()],
  server: { fs: { allow: [repository] } },
  worker: { format: 'es', plugins: probes },
  build: { outDir: 'dist', emptyOutDir: true, target: 'es2022', chunkSizeWarningLimit: 4096 },
});
