/** `load` for pages: they download what runs programs, and the ops of a file, when it is loaded. */

import { loadOps } from '../ops/op-families.ts';
import {
  type FileSource,
  type LoadFileOptions,
  loadFile,
  loadProgramFile,
  type ProgramReader,
} from './load-file.ts';
import type { LoadedProgram } from './loaded-program.ts';

const reader: ProgramReader = async (program, device) => {
  const [{ needsBytes, readProgram: read }] = await Promise.all([
    import('./parts-reader.ts'),
    loadOps(opNames(program.value)),
  ]);
  if (!needsBytes(program, device)) return { read, predict: null };
  const { predictedBytes } = await import('./parts-predictor.ts');
  return { read, predict: predictedBytes };
};

/** All that a program of a file names as an op: in graphs, in parts of fused ops, in those of every size. */
function opNames(program: unknown, names = new Set<string>()): ReadonlySet<string> {
  if (typeof program !== 'object' || program === null) return names;
  for (const [key, value] of Object.entries(program)) {
    if (key === 'op' && typeof value === 'string') names.add(value);
    else opNames(value, names);
  }
  return names;
}

/**
 * Loads a file that `save` has written: a program that runs without its source, or tensors and plain data. From a
 * path or URL of a file, or from the bytes.
 *
 * Nothing of the file is evaluated, and everything in it is looked at before it is used. Throws DataError
 * that names what is damaged and where.
 */
export function load(source: FileSource, options: LoadFileOptions = {}): Promise<unknown> {
  return loadFile(source, options, reader);
}

/** Loads a file that must contain a program. Throws ArgumentError if it contains something else. */
export function loadProgram(
  source: FileSource,
  options: LoadFileOptions = {},
): Promise<LoadedProgram> {
  return loadProgramFile(source, options, reader);
}
