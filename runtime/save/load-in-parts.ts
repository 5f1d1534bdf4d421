/** `load` for pages, which download the runtime for programs, and the ops of a file, on demand. */

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

/** Collects all op names in a program: in graphs, in parts of fused ops, and in programs for all sizes. */
function opNames(program: unknown, names = new Set<string>()): ReadonlySet<string> {
  if (typeof program !== 'object' || program === null) return names;
  for (const [key, value] of Object.entries(program)) {
    if (key === 'op' && typeof value === 'string') names.add(value);
    else opNames(value, names);
  }
  return names;
}

/**
 * Loads a file written by `save`: a program that runs without its source, or tensors and plain data. Accepts a
 * path, a URL or the bytes.
 *
 * Nothing in the file is evaluated, and everything is validated before use. Throws DataError naming what is
 * damaged and where.
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
