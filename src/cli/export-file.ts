import { basename } from 'node:path';
import { ArgumentError } from '../../runtime/errors/errors.ts';
import { exportModule, exportOnnx, exportStableHLO } from '../export/index.ts';
import { expectSaved } from './files/expect-saved.ts';
import { writeOutput } from './files/write-output.ts';

interface Options {
  readonly to: string;
  readonly out?: string;
  readonly program?: string;
  readonly sizes?: string;
  readonly externalData?: boolean;
  readonly relaxedSimd?: boolean;
  readonly maxIterations?: string;
}

const forms = { stablehlo: exportToStableHLO, onnx: exportToOnnx } as const;

/** `tostatic export FILE --to …`: writes the program, a description of its arguments, and the tensors of its state. */
export async function exportFile(file: string, options: Options): Promise<void> {
  const { to, out } = options;
  if (to !== 'module' && !Object.hasOwn(forms, to)) {
    throw new ArgumentError({
      what: 'export: no such form',
      given: to,
      expected: [...Object.keys(forms), 'module'].join(', '),
      remedy: 'tostatic export FILE --to onnx',
    });
  }
  expectSaved('export', file);
  const stem = out ?? basename(file).replace(/\.[^.]*$/, '');
  if (to === 'module') {
    await exportToModule(file, stem, options);
    return;
  }
  const { inputs, outputs, unchecked, main } = await forms[to as keyof typeof forms](
    file,
    stem,
    options,
  );
  console.log(`${main}  ${inputs.length} arguments, ${outputs.length} results`);
  console.log(`${stem}.json  names, shapes, and which results feed which arguments`);
  console.log(`${stem}.safetensors  the state`);
  if (unchecked > 0) console.log(`${unchecked} checks of the function are not made there`);
}

interface WrittenModuleInfo {
  readonly main: string;
  readonly inputs: readonly object[];
  readonly outputs: readonly object[];
  readonly unchecked: number;
}

/** Writes the module, its types, and if requested its state in a separate file. */
async function exportToModule(file: string, stem: string, options: Options): Promise<void> {
  const { program, externalData, relaxedSimd = true } = options;
  const beside = `${basename(stem)}.bin`;
  const { code, declarations, weights, memory } = await exportModule(file, {
    ...(program !== undefined && { program: program === 'all' ? program : Number(program) }),
    ...(externalData && { weights: beside }),
    relaxedSimd,
  });
  writeOutput(`${stem}.mjs`, code);
  writeOutput(`${stem}.d.mts`, declarations);
  if (weights) writeOutput(`${stem}.bin`, weights);
  const { planned, arena, total } = memory;
  console.log(`${stem}.mjs  an ES module without imports, ${code.length} bytes`);
  console.log(`${stem}.d.mts  its types`);
  if (weights) console.log(`${stem}.bin  the state`);
  console.log(`memory  a run takes ${arena} bytes, ${planned} planned; ${total} in all`);
}

const chosen = ({ program }: Options) =>
  program === undefined ? {} : { program: Number(program) };

function writeBeside(stem: string, sidecar: object, state: Uint8Array): void {
  writeOutput(`${stem}.json`, `${JSON.stringify(sidecar, null, 2)}\n`);
  writeOutput(`${stem}.safetensors`, state);
}

async function exportToStableHLO(
  file: string,
  stem: string,
  options: Options,
): Promise<WrittenModuleInfo> {
  const { text, sidecar, state } = await exportStableHLO(file, {
    ...chosen(options),
    ...(options.maxIterations !== undefined && { maxIterations: Number(options.maxIterations) }),
  });
  writeOutput(`${stem}.mlir`, text);
  writeBeside(stem, sidecar, state);
  return { ...sidecar, main: `${stem}.mlir` };
}

async function exportToOnnx(
  file: string,
  stem: string,
  options: Options,
): Promise<WrittenModuleInfo> {
  const external = `${stem}.onnx.data`;
  const { model, data, sidecar, state } = await exportOnnx(file, {
    ...chosen(options),
    ...(options.sizes !== undefined && { sizes: sizesOf(options.sizes) }),
    ...(options.externalData && { externalData: basename(external) }),
  });
  writeOutput(`${stem}.onnx`, model);
  if (data) writeOutput(external, data);
  writeBeside(stem, sidecar, state);
  return { ...sidecar, main: `${stem}.onnx` };
}

function sizesOf(given: string): 'symbolic' | 'fixed' {
  if (given === 'symbolic' || given === 'fixed') return given;
  throw new ArgumentError({
    what: 'export: --sizes',
    given,
    expected: 'symbolic or fixed',
    remedy: 'leave it out: sizes are open where the function has a program for all of them',
  });
}
