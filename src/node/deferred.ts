/** `tostatic/deferred` for Node: the compiler is the one of `tostatic`, with the engine's inspector and the cache. */

import '../../runtime/numerics/environment.ts';
import { deferredToStatic } from '../deferred/deferred-to-static.ts';
import { LateCompiler } from '../deferred/late-compiler.ts';

export * from '../deferred/exports.ts';

/** Captures a function, a module or a method, like `toStatic` of `tostatic`. */
export const toStatic = deferredToStatic(
  new LateCompiler(async () => {
    await import('./index.ts');
    return import('../deferred/compiler.ts');
  }),
);
