import { CaptureError } from '../../runtime/errors/errors.ts';
import { Module } from '../../runtime/nn/module/module.ts';
import type { LoadedProgram } from '../../runtime/save/loaded-program.ts';
import { saveProgram, save as saveValue } from '../../runtime/save/save.ts';
import type { Savable } from '../../runtime/save/value-format.ts';
import { staticRecord } from '../dispatch/static-functions.ts';
import { compiledFor } from './compiled-function.ts';
import { programToSave } from './program-to-save.ts';

// biome-ignore lint/suspicious/noExplicitAny: the constraint that every function type satisfies.
type Callable = (this: any, ...args: any[]) => unknown;

/**
 * Returns the bytes of a file, and writes them to the path if one is given. Saves
 *
 * - a captured function (`toStatic(fn)`), or a module whose `forward` is captured: the programs that its calls so far
 *   have compiled, backward included, and the pre-existing tensors and numbers that they read. `load` of
 *   `tostatic/runtime` runs it without its source and without the compiler;
 * - tensors and plain data: `{ model: model.stateDict(), epoch: 3 }`;
 * - a loaded program, with its current state.
 *
 * Throws CaptureError for a function that has not been called yet, that is not a single graph, or that relies on
 * something that a file can't contain, and ArgumentError for a value that is not data.
 */
export async function save(
  value: Savable | Callable | Module | LoadedProgram,
  path?: string | URL,
): Promise<Uint8Array> {
  const [fn, receiver] = value instanceof Module ? [value.forward, value] : [value, undefined];
  const record = typeof fn === 'function' ? staticRecord(fn) : undefined;
  if (record) {
    const { captured } = record;
    if (!captured) throw notLoaded(record.fn.name);
    const compiled = compiledFor(captured, receiver);
    if (!compiled) throw notCaptured(captured.name);
    return saveProgram(programToSave(compiled), path);
  }
  if (value instanceof Module) throw notCaptured(value.constructor.name);
  return saveValue(value as Savable | LoadedProgram, path);
}

function notLoaded(name: string): CaptureError {
  return new CaptureError({
    what: `save: ${name || 'the function'} is not compiled yet`,
    given: 'a function whose compiler is not loaded',
    expected: 'a function that has been called since',
    remedy: 'await ready() of the function, call it, and save it then',
  });
}

function notCaptured(name: string): CaptureError {
  return new CaptureError({
    what: `save: ${name || 'the function'} is not captured`,
    given: 'a function that runs as ordinary JavaScript',
    expected: 'a function that toStatic has captured',
    remedy: 'wrap it in toStatic, or save stateDict() and load that into the same code',
  });
}
