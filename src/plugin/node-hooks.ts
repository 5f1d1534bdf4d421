/** The hooks of Node 20's loader thread. */

import { type LoadedModule, loadInstrumented } from './node-load.ts';

export async function load(
  url: string,
  context: object,
  next: (url: string, context: object) => Promise<LoadedModule>,
): Promise<LoadedModule> {
  return loadInstrumented(url, await next(url, context));
}
