import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import '../../runtime/index.ts';
import { ArgumentError, DataError } from '../../runtime/errors/errors.ts';
import type { AnyFunction } from '../1-capture/capture.ts';

export interface LoadedFunction {
  readonly fn: AnyFunction;
  /** Fresh arguments for one call. */
  readonly inputs: () => readonly unknown[];
}

/** The function of a module that a command works on. Throws DataError or ArgumentError. */
export async function loadFunction(
  file: string,
  name: string | undefined,
): Promise<LoadedFunction> {
  const exports = await importFile(file);
  const functions = Object.entries(exports).filter(
    (entry): entry is [string, AnyFunction] =>
      typeof entry[1] === 'function' && entry[0] !== 'inputs',
  );
  const names = functions.map(([exported]) => exported);
  const chosen = name ?? (names.length === 1 ? names[0] : undefined);
  const fn = functions.find(([exported]) => exported === chosen)?.[1];
  if (!fn) {
    throw new ArgumentError({
      what: `${file}: which function is meant is not clear`,
      given: name === undefined ? 'no --function' : `--function ${name}`,
      expected:
        names.length > 0 ? `one of ${names.join(', ')}` : 'a module that exports a function',
      remedy: 'name an exported function: --function NAME',
    });
  }
  const { inputs } = exports;
  if (inputs !== undefined && typeof inputs !== 'function') {
    throw new ArgumentError({
      what: `${file}: inputs is not a function`,
      given: `inputs of type ${typeof inputs}`,
      expected: 'export function inputs() that answers the arguments as an array',
      remedy: 'wrap the array: export const inputs = () => […]',
    });
  }
  return { fn, inputs: (inputs ?? (() => [])) as LoadedFunction['inputs'] };
}

/** What a module exports. Throws DataError when it can't be loaded. */
export async function importFile(file: string): Promise<Record<string, unknown>> {
  const path = resolve(file);
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  } catch (error) {
    const { code } = error as { code?: string };
    // Errors inside the module itself are the user's to see as they are.
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'ERR_UNKNOWN_FILE_EXTENSION') throw error;
    throw new DataError({
      what: 'the module could not be loaded',
      given: path,
      expected: 'an existing module that this Node can load',
      remedy:
        code === 'ERR_UNKNOWN_FILE_EXTENSION'
          ? 'run TypeScript through a loader: NODE_OPTIONS="--import tsx" tostatic …'
          : 'check the path, and the imports of the module',
      cause: error,
    });
  }
}
