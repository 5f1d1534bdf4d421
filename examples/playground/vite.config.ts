import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';
import { ownProbes } from '../../build/own-code.ts';
import { tostatic } from '../../src/plugin/index.ts';
import { digitsAsset } from './digits-asset.ts';

const repository = fileURLToPath(new URL('../../', import.meta.url));

const probes = () => [
  // The library's own modules, as in the published package, and the training step of the worker.
  { ...ownProbes(repository, 'src/1-capture/marked/probe.ts'), enforce: 'post' as const },
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
