import { invariant } from '../errors/invariant.ts';
import { opTable } from '../ops/op-table.ts';
import { compileControl } from '../run-program/control/compile-control.ts';
import { provideParts } from '../run-program/later-parts.ts';
import { runBackward } from '../run-program/run-backward.ts';
import { predictedBytes } from '../run-program/simulate/predicted-bytes.ts';
import {
  type FileSource,
  type LoadFileOptions,
  loadFile,
  loadProgramFile,
  type ProgramReader,
} from './load-file.ts';
import type { LoadedProgram } from './loaded-program.ts';
import { readProgram } from './program-format.ts';

const reader: ProgramReader = async () => {
  invariant(opTable.size > 0, 'programs name ops');
  provideParts({ compileControl, runBackward });
  return { read: readProgram, predict: predictedBytes };
};

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
