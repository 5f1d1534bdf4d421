/** File names of functions of the published package that the build doesn't instrument. */

import { publishedScheme } from '../../../runtime/errors/own-code.ts';

export const runnerFile = `${publishedScheme}src/`;
export const runtimeFile = `${publishedScheme}runtime/`;
/** The folder of implicit constructors, which are inlined. */
export const implicitFile = `${publishedScheme}runtime/implicit/`;
