/**
 * Module hooks, `--import`ed: what imports the package's sources gets them without their types, from the folder that
 * the address names: `imports-as-compiled.mjs?/tmp/…`.
 */

import { register } from 'node:module';
import { pathToFileURL } from 'node:url';
import { isMainThread } from 'node:worker_threads';

const root = new URL('..', import.meta.url).href;
const compiled = pathToFileURL(`${decodeURIComponent(new URL(import.meta.url).search.slice(1))}/`);

export async function resolve(specifier, context, next) {
  const resolved = await next(specifier, context);
  const [url] = resolved.url.split('?');
  if (!url.startsWith(root) || !/^(src|runtime)\/.*\.ts$/.test(url.slice(root.length))) {
    return resolved;
  }
  const file = new URL(url.slice(root.length).replace(/\.ts$/, '.js'), compiled);
  return { url: file.href, format: 'module', shortCircuit: true };
}

if (isMainThread) register(import.meta.url, { parentURL: import.meta.url });
