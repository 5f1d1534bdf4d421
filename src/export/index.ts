/** Programs for other engines. */

import { ArgumentError } from '../../runtime/errors/errors.ts';
import { readBytes } from '../../runtime/save/files.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { saveSafetensors } from '../../runtime/weights/index.ts';
import { save } from '../save/save.ts';
import { readPortable } from './portable-program.ts';
import {
  type ExportedInput,
  type ExportedOutput,
  exportProgram,
} from './stablehlo/export-program.ts';

export type { ExportedInput, ExportedOutput } from './stablehlo/export-program.ts';

/** What a function that runs as a program looks like to its caller. */
type Exportable = Parameters<typeof save>[0];

export interface ExportOptions {
  /** Number of the program among those that the file holds; the last one that was compiled when left out. */
  readonly program?: number;
}

export interface StableHLOExport {
  /** The module in MLIR's text form. */
  readonly text: string;
  /** What its arguments and results are, as JSON beside it. */
  readonly sidecar: {
    readonly format: 'tostatic-stablehlo';
    readonly version: 1;
    readonly name: string;
    readonly inputs: readonly ExportedInput[];
    readonly outputs: readonly ExportedOutput[];
    readonly unchecked: number;
  };
  /** The tensors of the state by the names of the inputs, as safetensors. */
  readonly state: Uint8Array;
}

/**
 * A captured function that was called, a loaded program, or a saved file (path or bytes) as StableHLO: one function
 * that takes arguments, state and numbers and returns results and the next state. Throws ArgumentError, by name, for
 * an op without a form in StableHLO.
 */
export async function exportStableHLO(
  source: Exportable | string | URL | Uint8Array,
  options: ExportOptions = {},
): Promise<StableHLOExport> {
  const portable = readPortable(await fileOf(source), options.program);
  try {
    const { text, inputs, outputs, unchecked } = exportProgram(portable);
    const tensors = portable.state.flatMap(({ name, value }) =>
      value instanceof Tensor ? [[name, value] as const] : [],
    );
    const state = await saveSafetensors(Object.fromEntries(tensors));
    const { name } = portable;
    const facts = { format: 'tostatic-stablehlo', version: 1 } as const;
    return { text, sidecar: { ...facts, name, inputs, outputs, unchecked }, state };
  } finally {
    portable.dispose();
  }
}

async function fileOf(source: Exportable | string | URL | Uint8Array): Promise<Uint8Array> {
  if (source instanceof Uint8Array) return source;
  if (typeof source === 'string' || source instanceof URL) return readBytes(source);
  if (typeof source === 'function' || typeof source === 'object') return save(source);
  throw new ArgumentError({
    what: 'exportStableHLO: nothing to export',
    given: String(source),
    expected: 'a captured function, a loaded program, or a file that save() has made',
    remedy: 'pass the function that toStatic returned',
  });
}
