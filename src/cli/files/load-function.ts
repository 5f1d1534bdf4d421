import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { plural } from '../../../runtime/errors/plural.ts';
import '../../../runtime/index.ts';
import '../../1-capture/inspector.ts';
import { ArgumentError, DataError, type ErrorFacts } from '../../../runtime/errors/errors.ts';
import type { UserPosition } from '../../../runtime/errors/position.ts';
import { Module } from '../../../runtime/nn/module/module.ts';
import type { AnyFunction } from '../../1-capture/capture.ts';

interface LoadedFunction {
  readonly fn: AnyFunction;
  /** The export's name: `default` for the default export. */
  readonly name: string;
  /** Creates arguments for one call. */
  readonly inputs: () => Promise<readonly unknown[]>;
}

/** Loads the function of a module that a command runs. Throws DataError or ArgumentError. */
export async function loadFunction(
  file: string,
  name: string | undefined,
): Promise<LoadedFunction> {
  return functionOf(file, name, await importFile(file));
}

/** Returns the function of a loaded module. */
export function functionOf(
  file: string,
  name: string | undefined,
  exports: Readonly<Record<string, unknown>>,
): LoadedFunction {
  const functions = Object.entries(exports).filter(
    (entry): entry is [string, AnyFunction] =>
      typeof entry[1] === 'function' && entry[0] !== 'inputs' && !isClass(entry[1]),
  );
  const names = functions.map(([exported]) => exported);
  const chosen = name ?? (names.length === 1 ? names[0] : undefined);
  const fn = functions.find(([exported]) => exported === chosen)?.[1];
  if (!fn) throw withoutFunction(file, name, exports, names);
  const { inputs } = exports;
  if (inputs !== undefined && typeof inputs !== 'function') {
    throw new ArgumentError({
      what: `${file}: inputs is not a function`,
      given: `inputs of type ${typeof inputs}`,
      expected: 'export function inputs() that returns the arguments as an array',
      remedy: 'wrap the array: export const inputs = () => […]',
    });
  }
  if (inputs === undefined && fn.length > 0) throw withoutInputs(file, chosen!, fn);
  return { fn, name: chosen!, inputs: argumentsOf(file, inputs as (() => unknown) | undefined) };
}

/** The error if no function was selected; `names`: the exported functions to select from. */
function withoutFunction(
  file: string,
  name: string | undefined,
  exports: Readonly<Record<string, unknown>>,
  names: readonly string[],
): ArgumentError {
  if (name === undefined && names.length > 1) {
    return new ArgumentError({
      what: `${file}: several functions are exported`,
      given: 'no --function',
      expected: `one of ${names.join(', ')}`,
      remedy: `name one of them: --function ${names[0]}`,
      at: placeOfExport(file, names[0]!),
    });
  }
  const others = Object.keys(exports).filter((exported) => exported !== 'inputs');
  const at = name !== undefined && name in exports ? name : others[0];
  const isNoFunction = at !== undefined && at === name;
  return new ArgumentError({
    what: `${file}: ${name === undefined ? 'no function is exported' : isNoFunction ? `${name} is not a function` : `there is no export ${name}`}`,
    given: others.length > 0 ? `exports ${others.map(shown(exports)).join(', ')}` : 'no exports',
    expected: names.length > 0 ? `one of ${names.join(', ')}` : 'an exported function',
    remedy:
      names.length > 0
        ? `name an exported function: --function ${names[0]}`
        : `export the function: ${exampleFor(at, exports)}`,
    at: at === undefined ? { file: resolve(file), line: 1, column: 1 } : placeOfExport(file, at),
  });
}

const shown =
  (exports: Readonly<Record<string, unknown>>) =>
  (name: string): string =>
    `${name} (${kindOf(exports[name])})`;

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (value instanceof Module) return 'a module';
  return isClass(value) ? 'a class' : typeof value;
}

const isClass = (value: unknown): boolean =>
  typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));

/** Returns an example of a step: often only the model is exported. */
function exampleFor(name: string | undefined, exports: Readonly<Record<string, unknown>>): string {
  const value = name === undefined ? undefined : exports[name];
  if (value instanceof Module) return `export const step = (x) => ${name}.forward(x)`;
  if (!isClass(value)) return 'export const step = (x) => …';
  return `const model = new ${name}(…); export const step = (x) => model.forward(x)`;
}

/** The error for a function with parameters in a module that doesn't provide their values. */
function withoutInputs(file: string, name: string, fn: AnyFunction): ArgumentError {
  return new ArgumentError({
    what: `${file}: nothing says what to call ${name} with`,
    given: `${name} with ${plural(fn.length, 'parameter')}, and no export \`inputs\``,
    expected: 'export const inputs = () => […], the arguments of one call',
    remedy: `add it to the module, for example: export const inputs = () => [${exampleArguments(fn.length)}];`,
    at: placeOfExport(file, name),
  });
}

const exampleArguments = (count: number): string =>
  Array.from({ length: count }, () => 'randn([2, 3])').join(', ');

/** Returns the line that declares an export, if the file's text shows it. */
const placeOfExport = (file: string, name: string): UserPosition =>
  placeOf(file, name, new RegExp(`\\b(?:function\\*?|const|let|var|class|as)\\s+${name}\\b`));

/** Returns the first line that names it: imports come first. */
const placeOfImport = (file: string, name: string): UserPosition =>
  placeOf(file, name, new RegExp(`\\b${name}\\b`));

function placeOf(file: string, name: string, pattern: RegExp): UserPosition {
  const path = resolve(file);
  const lines = readFileSync(path, 'utf8').split('\n');
  const at = lines.findIndex((line) => pattern.test(line));
  const column = at < 0 ? 0 : lines[at]!.indexOf(name);
  return { file: path, line: Math.max(at, 0) + 1, column: column + 1 };
}

/** Calls `inputs`, and checks what it returns. */
function argumentsOf(file: string, inputs: (() => unknown) | undefined): LoadedFunction['inputs'] {
  if (!inputs) return async () => [];
  return async () => {
    const args = await inputs();
    if (Array.isArray(args)) return args as readonly unknown[];
    throw new ArgumentError({
      what: `${file}: inputs() does not return the arguments of a call`,
      given: args === null ? 'null' : `a value of type ${typeof args}`,
      expected: 'an array with an entry for each parameter',
      remedy: 'wrap it: export const inputs = () => [x]',
      at: placeOfExport(file, 'inputs'),
    });
  };
}

/**
 * Returns the exports of a module. Throws DataError if it can't be loaded. `version`: changes when the text changes
 * after the process has loaded it.
 */
export async function importFile(file: string, version = 0): Promise<Record<string, unknown>> {
  const path = resolve(file);
  const { href } = pathToFileURL(path);
  try {
    return (await import(version > 0 ? `${href}?${version}` : href)) as Record<string, unknown>;
  } catch (error) {
    const { code } = error as NodeError;
    if (error instanceof SyntaxError) throw unparsed(path, error);
    const transform = transformError(error);
    if (transform) throw new DataError({ ...transform, cause: error });
    // Errors inside the module itself reach the user unchanged.
    if (code === undefined || !loaderErrors.has(code)) throw error;
    throw new DataError({ ...unloadable(path, error as NodeError), cause: error });
  }
}

/** Errors that Node's loader throws before any of the module's code runs. */
const loaderErrors = new Set([
  'ERR_MODULE_NOT_FOUND',
  'ERR_UNKNOWN_FILE_EXTENSION',
  'ERR_UNSUPPORTED_DIR_IMPORT',
  'ERR_PACKAGE_PATH_NOT_EXPORTED',
  'ERR_PACKAGE_IMPORT_NOT_DEFINED',
  'ERR_IMPORT_ASSERTION_TYPE_MISSING',
  'ERR_IMPORT_ATTRIBUTE_MISSING',
]);

/**
 * Details of a file that esbuild can't compile in a loader such as tsx: only the error's text leaves the loader's
 * thread.
 */
function transformError(error: unknown): ErrorFacts | null {
  const message = error instanceof Error ? error.message : '';
  const [, file, line, column, text] = /^(.+):(\d+):(\d+): ERROR: (.+)$/m.exec(message) ?? [];
  if (!message.startsWith('Transform failed') || file === undefined) return null;
  return {
    what: 'the module could not be parsed',
    given: text!,
    expected: 'a module that the loader can compile',
    remedy: 'correct the line',
    at: { file: resolve(file), line: Number(line), column: Number(column) + 1 },
  };
}

/** Node reports the position of a syntax error only when it loads or checks the file itself. */
function unparsed(path: string, error: SyntaxError): DataError {
  const missing = /'([^']+)' does not provide an export named '([^']+)'/.exec(error.message);
  if (missing) {
    const [, module, name] = missing;
    return new DataError({
      what: `an import is not exported by '${module}'`,
      given: name!,
      expected: 'a name that the module exports',
      remedy: 'check the spelling; names are camel case (oneHot, zerosLike)',
      at: placeOfImport(path, name!),
      cause: error,
    });
  }
  const { stderr } = spawnSync(process.execPath, ['--check', path], { encoding: 'utf8' });
  const line = Number(/^.*:(\d+)\n/.exec(stderr)?.[1] ?? 1);
  return new DataError({
    what: 'the module could not be parsed',
    given: error.message,
    expected: 'a module that Node can load',
    remedy: 'correct the line; where it is in an import, load that module by itself',
    at: { file: path, line, column: 1 },
    cause: error,
  });
}

type NodeError = Error & { readonly code?: string };

function unloadable(path: string, { code, message }: NodeError): ErrorFacts {
  if (!existsSync(path)) {
    return {
      what: 'module not found',
      given: path,
      expected: 'the path of a JavaScript or TypeScript module',
      remedy: 'check the path; it is taken from the working directory',
    };
  }
  if (statSync(path).isDirectory() || !/\.[cm]?[jt]sx?$/.test(path)) {
    return {
      what: 'not a module',
      given: statSync(path).isDirectory() ? `the folder ${path}` : path,
      expected: 'the path of a JavaScript or TypeScript module',
      remedy: 'name the file that exports the function',
    };
  }
  const at = { file: path, line: 1, column: 1 };
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION') {
    return {
      what: 'this Node does not load TypeScript by itself',
      given: path,
      expected: 'a JavaScript module, or a loader for TypeScript',
      remedy: 'npm install --save-dev tsx, then NODE_OPTIONS="--import tsx" npx tostatic …',
      at,
    };
  }
  return {
    what: 'an import of the module could not be resolved',
    given: message,
    expected: 'installed packages, and paths of existing files',
    remedy: 'install the package, or write the path with its extension',
    at,
  };
}
