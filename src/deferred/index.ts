/**
 * `toStatic` for pages that download the compiler when they need it: calls run eagerly before, with the same
 * results.
 */

import { deferredToStatic } from './deferred-to-static.ts';
import { LateCompiler } from './late-compiler.ts';

export * from './exports.ts';

/** Captures a function, a module or a method, like `toStatic` of `tostatic`. */
export const toStatic = deferredToStatic(new LateCompiler(() => import('./compiler.ts')));
