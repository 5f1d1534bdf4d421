import { isAbsolute, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expectOptions, type OptionKinds } from '../../runtime/options/expect-options.ts';
import { arrayOf, either, flag, orNull, text, that } from '../../runtime/options/option-kinds.ts';

/** A string matches paths that contain it; paths have forward slashes. */
export type PathPattern = string | RegExp;

export interface PluginOptions {
  /** Modules to instrument; by default every JavaScript and TypeScript module. */
  readonly include?: PathPattern | readonly PathPattern[];
  /** Modules to skip; by default those in `node_modules`. */
  readonly exclude?: PathPattern | readonly PathPattern[];
  /**
   * The folder to which file names in positions are relative; by default the working directory (Vite: the project's
   * root). With null, files have their full path.
   */
  readonly root?: string | null;
  /**
   * With false, modules compiled from TypeScript contain positions in the user's files but not their text: a third
   * smaller, but explanations can't quote lines if the files are missing.
   */
  readonly sourceText?: boolean;
  /** The module from which instrumented modules import the probe. */
  readonly probe?: string;
}

const pattern = either(
  text,
  that('a regular expression', (value) => value instanceof RegExp),
);

const pluginKinds: OptionKinds<PluginOptions> = {
  include: either(pattern, arrayOf(pattern)),
  exclude: either(pattern, arrayOf(pattern)),
  root: orNull(text),
  sourceText: flag,
  probe: text,
};

/** Throws ArgumentError for an unknown option or a wrong value. */
export const expectPluginOptions = (options: PluginOptions): void =>
  expectOptions('tostatic/plugin', options, pluginKinds);

const moduleFile = /\.[cm]?[jt]sx?$/;

// Published files already have the probes they need; the compiler itself never needs any.
const folders = ['../../src', '../../runtime', '../../chunks', '../../dist'].map((folder) =>
  slashes(fileURLToPath(new URL(`${folder}/`, import.meta.url))),
);

/** Whether the module is the user's, decided by its path without a bundler's `?query`. */
export function isIncluded(id: string, options: PluginOptions): boolean {
  const path = slashes(pathOf(id));
  if (id.startsWith('\0') || folders.some((folder) => path.startsWith(folder))) return false;
  const { include = moduleFile, exclude = '/node_modules/' } = options;
  return matches(path, include) && !matches(path, exclude);
}

/** The path without a bundler's query, which follows the file's ending: a folder may be named `c#`. */
export const pathOf = (id: string): string => id.replace(/(\.\w+)[?#].*$/, '$1');

/** The name of a file in positions: short, and the same on every machine if possible. */
export function shownFile(path: string, root: string | null = process.cwd()): string {
  if (!isAbsolute(path) || root === null) return slashes(path);
  const inside = relative(resolve(root), path);
  return slashes(inside.startsWith('..') || isAbsolute(inside) ? path : inside);
}

function matches(path: string, patterns: PathPattern | readonly PathPattern[]): boolean {
  const all = typeof patterns === 'string' || patterns instanceof RegExp ? [patterns] : patterns;
  return all.some((pattern) =>
    typeof pattern === 'string' ? path.includes(pattern) : path.search(pattern) >= 0,
  );
}

function slashes(path: string): string {
  return sep === '/' ? path : path.split(sep).join('/');
}
