/**
 * `node --import tostatic/plugin/node app.js`: instruments modules as they are loaded, without a
 * build step. A loader that compiles (tsx) must come before it on the command line.
 */

import * as nodeModule from 'node:module';
import { type LoadedModule, loadInstrumented } from './node-load.ts';

/** Node 22.15 has hooks that run in the thread of the modules; Node 20 runs them in one of its own. */
interface SynchronousHooks {
  registerHooks?: (hooks: {
    load(
      url: string,
      context: object,
      next: (url: string, context: object) => LoadedModule,
    ): LoadedModule;
  }) => void;
}

const { registerHooks } = nodeModule as SynchronousHooks;

if (registerHooks) {
  registerHooks({ load: (url, context, next) => loadInstrumented(url, next(url, context)) });
} else {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  nodeModule.register(new URL(`./node-hooks.${extension}`, import.meta.url));
}
