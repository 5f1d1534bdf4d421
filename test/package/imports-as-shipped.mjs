/**
 * Module hooks, `--import`ed: what imports an entry of the package from its sources gets the built one instead. The
 * package's folder is in the address: `imports-as-shipped.mjs?file:///…/node_modules/tostatic/`.
 */

import { existsSync } from 'node:fs';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';

const root = new URL('../..', import.meta.url).href;
const shipped = decodeURIComponent(new URL(import.meta.url).search.slice(1));

export async function resolve(specifier, context, next) {
  const resolved = await next(specifier, context);
  const [url] = resolved.url.split('?');
  if (!/^(src|runtime)\/.*\.ts$/.test(url.slice(root.length)) || !url.startsWith(root)) {
    return resolved;
  }
  const file = url.slice(root.length).replace(/\.ts$/, '.js');
  // What Node gets by the name of the package.
  const inNode = file === 'src/index.js' ? 'src/node/index.js' : `node/${file}`;
  const built = [inNode, file]
    .map((entry) => new URL(`dist/${entry}`, shipped))
    .find((url) => existsSync(fileURLToPath(url)));
  if (!built) {
    throw new Error(`${specifier} of ${context.parentURL} is no entry of the package`);
  }
  return { url: built.href, format: 'module', shortCircuit: true };
}

if (isMainThread) register(import.meta.url, { parentURL: import.meta.url });
