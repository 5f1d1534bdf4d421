/**
 * `node --import tostatic/plugin/node app.js`: instruments modules as they are loaded, without a build step. A
 * loader that compiles (tsx) must come before it on the command line.
 */

import * as nodeModule from 'node:module';
import { type LoadedModule, loadInstrumented } from './node-load.ts';

/** Node 22.15 has hooks that run in the modules' thread; Node 20 runs them in a separate thread. */
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
} else registerInThread();

/** Without permission to start a thread, modules load unchanged, and functions that can't be captured report why. */
function registerInThread(): void {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  try {
    nodeModule.register(new URL(`./node-hooks.${extension}`, import.meta.url));
  } catch (error) {
    const { code, permission } = error as {
      readonly code?: unknown;
      readonly permission?: unknown;
    };
    if (code !== 'ERR_ACCESS_DENIED' || permission !== 'WorkerThreads') throw error;
    process.emitWarning(
      `no module is instrumented: Node ${process.versions.node} runs loaders in a thread, which ` +
        'its permission model forbids. Add --allow-worker, use Node 22.15 or later, or bundle with the build plugin.',
      { type: 'tostatic', code: 'TOSTATIC_NO_THREAD' },
    );
  }
}
