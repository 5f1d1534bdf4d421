/** Programs for other engines. */

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

/** The type of a function that runs as a program, as its caller sees it. */
type Exportable = Parameters<typeof save>[0];

export interface ExportOptions {
  /** Number of the program among those that the file holds; the last one that was compiled by default. */
  readonly program?: number;
}

export interface StableHLOOptions extends ExportOptions {
  /**
   * The most iterations of a data-dependent loop that gradients flow through: XLA keeps what backward reads in tables with so
   * many rows. The gradients of a loop that makes more are NaN. By default such loops are rejected.
   */
  readonly maxIterations?: number;
}

export interface StableHLOExport {
  /** The module in MLIR's text form. */
  readonly text: string;
  /** The arguments and results, as JSON beside the module. */
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

function iterationsOf(given: number | undefined): number | null {
  if (given === undefined) return null;
  if (Number.isInteger(given) && given >= 1 && given < 2 ** 31) return given;
  throw new ArgumentError({
    what: 'exportStableHLO: maxIterations',
    given: String(given),
    expected: 'an integer from 1 on',
    remedy: 'pass the most iterations that a loop of the program makes',
  });
}

export interface OnnxOptions extends ExportOptions {
  /**
   * `symbolic`: open sizes of arguments are symbolic dimensions; throws ArgumentError where the function has no
   * program for every size. `fixed`: the sizes that were compiled. By default symbolic where there is such a program.
   */
  readonly sizes?: 'symbolic' | 'fixed';
  /** The name of a file beside the model for weights of 1 KiB and more; a model may have 2 GiB. */
  readonly externalData?: string;
}

const onnxKinds: OptionKinds<OnnxOptions> = {
  program: count(0),
  sizes: oneOf('symbolic', 'fixed'),
  externalData: text,
};

export interface OnnxExport {
  /** The model's file. */
  readonly model: Uint8Array;
  /** The file of `externalData`; null without one. */
  readonly data: Uint8Array | null;
  /** The inputs and outputs, as JSON beside the model. */
  readonly sidecar: {
    readonly format: 'tostatic-onnx';
    readonly version: 1;
    readonly name: string;
    readonly opset: number;
    readonly inputs: readonly OnnxInput[];
    readonly outputs: readonly OnnxOutput[];
    readonly unchecked: number;
  };
  /** The tensors of the state that are inputs, by their names, as safetensors. */
  readonly state: Uint8Array;
}

/**
 * A captured function that was called, a loaded program, or a saved file (path or bytes) as an ONNX model: a graph
 * of arguments, the state that it changes and numbers, which returns results and the next state. Throws ArgumentError, by
 * name, for an op without a form in ONNX.
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
   * Number of the program among those that the file holds, or `all`: the module takes the one that fits its
   * arguments. The last one that was compiled by default.
   */
  readonly program?: number | 'all';
  /** The name of a file beside the module for its state, which it fetches. By default the module contains it. */
  readonly weights?: string;
  /**
   * False: kernels without the instructions of relaxed SIMD, for engines that lack them. Products and sums are then
   * rounded as they are there. By default kernels are those of this engine.
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
  /** Its types. */
  readonly declarations: string;
  /** The file of `weights`; null without one. */
  readonly weights: Uint8Array | null;
  /** Bytes of its memory. */
  readonly memory: ModuleBytes;
}

/**
 * A captured function that was called, a loaded program, or a saved file (path or bytes) as one ES module without
 * imports, for the sizes that it was compiled for: the kernels that its plan launches, in the order of the plan, and
 * the state. Throws ArgumentError, by name, for what has no form there.
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
