/**
 * Module hooks, `--import`ed: what imports the package's sources gets them without their types, from the folder that
 * the address names: `imports-as-compiled.mjs?/tmp/…`. What these import of each other is no work for other hooks.
 */

import { readFileSync } from 'node:fs';
import { register } from 'node:module';
import { pathToFileURL } from 'node:url';
import { isMainThread } from 'node:worker_threads';

const root = new URL('..', import.meta.url).href;
const compiled = pathToFileURL(`${decodeURIComponent(new URL(import.meta.url).search.slice(1))}/`);

const moduleAt = (url) => ({ url, format: 'module', shortCircuit: true });
const isCompiled = (url) => url?.startsWith(compiled.href) && url.endsWith('.js');

export async function resolve(specifier, context, next) {
  if (specifier.startsWith('.') && isCompiled(context.parentURL)) {
    return moduleAt(new URL(specifier, context.parentURL).href);
  }
  const resolved = await next(specifier, context);
  const [url] = resolved.url.split('?');
  if (!url.startsWith(root) || !/^(src|runtime)\/.*\.ts$/.test(url.slice(root.length))) {
    return resolved;
  }
  return moduleAt(new URL(url.slice(root.length).replace(/\.ts$/, '.js'), compiled).href);
}

export async function load(url, context, next) {
  if (!isCompiled(url)) return next(url, context);
  return { format: 'module', source: readFileSync(new URL(url)), shortCircuit: true };
}

if (isMainThread) register(import.meta.url, { parentURL: import.meta.url });
