/**
 * User settings for capture: where a graph must break, which functions are not traced, and whether anything is
 * captured.
 */

import { expectFunction } from '../../runtime/options/expect-arguments.ts';
import { expectArguments } from '../../runtime/options/expect-options.ts';
import { anObject, callback, either, flag, text } from '../../runtime/options/option-kinds.ts';

type AnyFunction = (...args: never[]) => unknown;

/** Ends the graph here: a graph break in captured code, a no-op elsewhere. */
export function breakGraph(): void {}

/**
 * Called in a loop of a captured function, or in a callback of an array method: keeps the innermost loop around the
 * call as a loop of the program, however many iterations it makes, instead of unrolling it. A no-op elsewhere.
 */
export function keepLoop(): void {}

const untouched = new WeakSet<object>();

/**
 * Makes the function run as ordinary JavaScript wherever captured code calls it; `toStatic` of it does nothing.
 * Also a decorator for methods. Returns the function itself.
 */
export function notToStatic<F extends AnyFunction>(fn: F, _context?: unknown): F {
  expectFunction('notToStatic', fn);
  untouched.add(fn);
  return fn;
}

export function isNotToStatic(fn: object): boolean {
  return untouched.has(fn);
}

const ignoredFiles: (string | RegExp)[] = [];

/**
 * Makes functions of these modules run as ordinary JavaScript wherever captured code calls them. A module is its
 * namespace (`import * as module`), a file or folder by URL or path, or a pattern of paths.
 */
export function ignoreModule(...modules: readonly (object | string | URL | RegExp)[]): void {
  for (const module of modules) {
    expectArguments('ignoreModule', { module }, { module: either(anObject, text, callback) });
    if (typeof module === 'string' || module instanceof RegExp) ignoredFiles.push(module);
    else if (module instanceof URL) ignoredFiles.push(decodeURIComponent(module.pathname));
    else for (const value of Object.values(module)) ignoreExport(value);
  }
}

/** Ignores a function, or a class with its methods. */
function ignoreExport(value: unknown): void {
  if (typeof value !== 'function') return;
  untouched.add(value);
  const { prototype } = value as { prototype?: object };
  for (const key of prototype ? Object.getOwnPropertyNames(prototype) : []) {
    const method: unknown = Object.getOwnPropertyDescriptor(prototype, key)?.value;
    if (typeof method === 'function') untouched.add(method);
  }
}

export function isIgnoredFile(file: string): boolean {
  return ignoredFiles.some((ignored) =>
    typeof ignored === 'string'
      ? file === ignored || file.startsWith(ignored.endsWith('/') ? ignored : `${ignored}/`)
      : ignored.test(file),
  );
}

/** If false, captured functions run as ordinary JavaScript. */
export let toStaticEnabled = true;

/** With `false`, captured functions run as ordinary JavaScript until it is called with `true` again. */
export function enableToStatic(value: boolean): void {
  expectArguments('enableToStatic', { value }, { value: flag });
  toStaticEnabled = value;
}
