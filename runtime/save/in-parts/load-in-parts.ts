/** `load` for pages, which download the runtime for programs, and the ops of a file, on demand. */

import { loadOps } from '../../ops/op-families.ts';
import {
  type FileSource,
  type LoadFileOptions,
  loadFile,
  loadProgramFile,
  type ProgramReader,
} from '../load-file.ts';
import type { LoadedProgram } from '../loaded-program.ts';

const reader: ProgramReader = async (program, device) => {
  const { ops, hasBackward } = needsOf(program.value);
  const [{ controlOps, needsBytes, provideParts, readProgram: read }, backward] = await Promise.all(
    [import('./reader.ts'), hasBackward ? import('./backward.ts') : null, loadOps(ops)],
  );
  const hasControl = [...ops].some((name) => controlOps.has(name));
  const isPredicted = needsBytes(program, device);
  const [control, predictor] = await Promise.all([
    hasControl ? import('./control.ts') : null,
    isPredicted ? import('./predictor.ts') : null,
  ]);
  provideParts({ ...backward, ...control });
  return { read, predict: predictor?.predictedBytes ?? null };
};

interface Needs {
  readonly ops: Set<string>;
  hasBackward: boolean;
}

/**
 * Collects all op names in a program, in graphs, in parts of fused ops, and in programs for all sizes, and whether a
 * graph has a backward.
 */
function needsOf(program: unknown, needs: Needs = { ops: new Set(), hasBackward: false }): Needs {
  if (typeof program !== 'object' || program === null) return needs;
  for (const [key, value] of Object.entries(program)) {
    if (key === 'op' && typeof value === 'string') needs.ops.add(value);
    else needsOf(value, needs);
    needs.hasBackward ||= key === 'backward';
  }
  return needs;
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
