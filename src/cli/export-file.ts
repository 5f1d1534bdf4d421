import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { ArgumentError } from '../../runtime/errors/errors.ts';
import { exportStableHLO } from '../export/index.ts';

interface Options {
  readonly to: string;
  readonly out?: string;
  readonly program?: string;
}

/** `tostatic export FILE --to stablehlo`: writes the program, what its arguments are, and the tensors of its state. */
export async function exportFile(file: string, { to, out, program }: Options): Promise<void> {
  if (to !== 'stablehlo') {
    throw new ArgumentError({
      what: 'export: no such form',
      given: to,
      expected: 'stablehlo',
      remedy: 'tostatic export FILE --to stablehlo',
    });
  }
  const stem = out ?? basename(file).replace(/\.[^.]*$/, '');
  const chosen = program === undefined ? {} : { program: Number(program) };
  const { text, sidecar, state } = await exportStableHLO(file, chosen);
  writeFileSync(`${stem}.mlir`, text);
  writeFileSync(`${stem}.json`, `${JSON.stringify(sidecar, null, 2)}\n`);
  writeFileSync(`${stem}.safetensors`, state);
  const { inputs, outputs, unchecked } = sidecar;
  console.log(`${stem}.mlir  ${inputs.length} arguments, ${outputs.length} results`);
  console.log(`${stem}.json  names, shapes, and which results feed which arguments`);
  console.log(`${stem}.safetensors  the state`);
  if (unchecked > 0) console.log(`${unchecked} checks of the function are not made there`);
}
