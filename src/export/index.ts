/** Exports programs for other engines. */

import { ArgumentError } from '../../runtime/errors/errors.ts';
import { expectOptions, type OptionKinds } from '../../runtime/options/expect-options.ts';
import { anyNumber, count, flag, oneOf, text, that } from '../../runtime/options/option-kinds.ts';
import { readBytes } from '../../runtime/save/file/files.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { saveSafetensors } from '../../runtime/weights/index.ts';
import { save } from '../save/save.ts';
import { readPortable } from './lowering/portable-program.ts';
import { type ModuleBytes, moduleOf } from './module/export-module.ts';
import type { OnnxInput, OnnxOutput } from './onnx/export-program.ts';
import {
  type ExportedInput,
  type ExportedOutput,
  exportProgram,
} from './stablehlo/export-program.ts';

export type { ModuleBytes } from './module/export-module.ts';
export type { OnnxInput, OnnxOutput, OnnxPort } from './onnx/export-program.ts';
export type { ExportedInput, ExportedOutput } from './stablehlo/export-program.ts';

/** A function that runs as a program, as its caller sees it. */
type Exportable = Parameters<typeof save>[0];

export interface ExportOptions {
  /** The index of the program in the file; by default the last one compiled. */
  readonly program?: number;
}

export interface StableHLOOptions extends ExportOptions {
  /**
   * The most iterations of a data-dependent loop that gradients flow through: XLA stores the values that backward reads
   * in tables with this many rows. The gradients of a loop with more iterations are NaN. By default, such loops are
   * rejected.
   */
  readonly maxIterations?: number;
}

export interface StableHLOExport {
  /** The module in MLIR's text form. */
  readonly text: string;
  /** The arguments and results, as JSON. */
  readonly sidecar: {
    readonly format: 'tostatic-stablehlo';
    readonly version: 1;
    readonly name: string;
    readonly inputs: readonly ExportedInput[];
    readonly outputs: readonly ExportedOutput[];
    readonly unchecked: number;
  };
  /** The tensors of the state by input name, as safetensors. */
  readonly state: Uint8Array;
}

/**
 * Exports a called captured function, a loaded program, or a saved file (path or bytes) as StableHLO: one function
 * from arguments, state and numbers to results and the next state. Throws ArgumentError that names an op StableHLO
 * can't express.
 */
export async function exportStableHLO(
  source: Exportable | string | URL | Uint8Array,
  options: StableHLOOptions = {},
): Promise<StableHLOExport> {
  expectOptions('exportStableHLO', options, { program: count(0), maxIterations: anyNumber });
  const maxIterations = iterationsOf(options.maxIterations);
  const portable = readPortable(
    await fileOf(source, 'exportStableHLO'),
    options.program === undefined ? {} : { index: options.program },
  );
  try {
    const { text, inputs, outputs, unchecked } = exportProgram(portable, maxIterations);
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

function iterationsOf(value: number | undefined): number | null {
  if (value === undefined) return null;
  if (Number.isInteger(value) && value >= 1 && value < 2 ** 31) return value;
  throw new ArgumentError({
    what: 'exportStableHLO: maxIterations',
    given: String(value),
    expected: 'an integer from 1 on',
    remedy: 'pass the most iterations that a loop of the program makes',
  });
}

export interface OnnxOptions extends ExportOptions {
  /**
   * `symbolic`: dynamic sizes of arguments are symbolic dimensions; throws ArgumentError if the function has no
   * program for every size. `fixed`: the compiled sizes. By default symbolic if there is such a program.
   */
  readonly sizes?: 'symbolic' | 'fixed';
  /** The name of a separate file for weights of 1 KiB and more; a model is limited to 2 GiB. */
  readonly externalData?: string;
}

const onnxKinds: OptionKinds<OnnxOptions> = {
  program: count(0),
  sizes: oneOf('symbolic', 'fixed'),
  externalData: text,
};

export interface OnnxExport {
  /** The model file. */
  readonly model: Uint8Array;
  /** The file named `externalData`; null without one. */
  readonly data: Uint8Array | null;
  /** The inputs and outputs, as JSON. */
  readonly sidecar: {
    readonly format: 'tostatic-onnx';
    readonly version: 1;
    readonly name: string;
    readonly opset: number;
    readonly inputs: readonly OnnxInput[];
    readonly outputs: readonly OnnxOutput[];
    readonly unchecked: number;
  };
  /** The state tensors that are inputs, by name, as safetensors. */
  readonly state: Uint8Array;
}

/**
 * Exports a called captured function, a loaded program, or a saved file (path or bytes) as an ONNX model: a graph
 * from arguments, mutable state and numbers to results and the next state. Throws ArgumentError that names an op
 * ONNX can't express.
 */
export async function exportOnnx(
  source: Exportable | string | URL | Uint8Array,
  options: OnnxOptions = {},
): Promise<OnnxExport> {
  expectOptions('exportOnnx', options, onnxKinds);
  const { program, sizes, externalData } = options;
  const portable = readPortable(await fileOf(source, 'exportOnnx'), {
    ...(program !== undefined && { index: program }),
    everySize: sizes !== 'fixed',
  });
  try {
    if (sizes === 'symbolic' && !portable.sizes) throw notForEverySize(portable.name);
    const { exportModel, opset } = await import('./onnx/export-program.ts');
    const exported = await exportModel(portable, externalData ?? null);
    const { model, data, inputs, outputs, unchecked } = exported;
    const state = await saveSafetensors(Object.fromEntries(exported.state));
    const { name } = portable;
    const facts = { format: 'tostatic-onnx', version: 1, name, opset } as const;
    return { model, data, sidecar: { ...facts, inputs, outputs, unchecked }, state };
  } finally {
    portable.dispose();
  }
}

function notForEverySize(name: string): ArgumentError {
  return new ArgumentError({
    what: 'exportOnnx: no program for every size',
    given: `${name || 'a function'}, whose programs are for the sizes of calls alone`,
    expected: 'a specification with open sizes, and ops that are the same for all of them',
    remedy: "say how large a size may be: tensorSpec([{ name: 'length', max: 512 }], …)",
  });
}

export interface ModuleOptions {
  /**
   * The index of the program in the file, or `all`: the module selects the program that fits its arguments. By
   * default the last one compiled.
   */
  readonly program?: number | 'all';
  /** The name of a separate file for the state, which the module fetches. By default, the state is in the module. */
  readonly weights?: string;
  /**
   * False: kernels without relaxed SIMD instructions, for engines that lack them; products and sums are rounded
   * accordingly. By default the kernels are those of this engine.
   */
  readonly relaxedSimd?: boolean;
}

const moduleKinds: OptionKinds<ModuleOptions> = {
  relaxedSimd: flag,
  program: that("a number or 'all'", (value) => value === 'all' || Number.isInteger(value)),
  weights: text,
};

export interface ModuleExport {
  /** An ES module without imports. */
  readonly code: string;
  /** Its TypeScript declarations. */
  readonly declarations: string;
  /** The file named `weights`; null without one. */
  readonly weights: Uint8Array | null;
  /** Bytes of its memory. */
  readonly memory: ModuleBytes;
}

/**
 * Exports a called captured function, a loaded program, or a saved file (path or bytes) as one ES module without
 * imports, for the compiled sizes: the kernels that its plan launches, in plan order, and the state. Throws
 * ArgumentError that names an op a module can't express.
 */
export async function exportModule(
  source: Exportable | string | URL | Uint8Array,
  options: ModuleOptions = {},
): Promise<ModuleExport> {
  expectOptions('exportModule', options, moduleKinds);
  const { program, weights: data = null, relaxedSimd = true } = options;
  const file = await fileOf(source, 'exportModule');
  return moduleOf(file, program, { data, relaxedSimd });
}

async function fileOf(
  source: Exportable | string | URL | Uint8Array,
  caller: string,
): Promise<Uint8Array> {
  if (source instanceof Uint8Array) return source;
  if (typeof source === 'string' || source instanceof URL) return readBytes(source);
  if (typeof source === 'function' || typeof source === 'object') return save(source);
  throw new ArgumentError({
    what: `${caller}: nothing to export`,
    given: String(source),
    expected: 'a captured function, a loaded program, or a file that save() has made',
    remedy: 'pass the function that toStatic returned',
  });
}
