import { currentDevice, deviceNamed } from '../device/current.ts';
import type { Device } from '../device/device.ts';
import { ArgumentError, type DataError, TostaticError } from '../errors/errors.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { that } from '../options/option-kinds.ts';
import { parseFile } from './container.ts';
import { badFile } from './field.ts';
import { readBytes } from './files.ts';
import type { LoadedProgram } from './loaded-program.ts';
import { readProgram } from './program-format.ts';
import { TensorReader } from './tensors.ts';
import { readValue } from './values.ts';

export interface LoadFileOptions {
  /** Where tensors are put and programs run: a device or its name. The current device by default. */
  readonly device?: Device | string;
}

const loadKinds: OptionKinds<LoadFileOptions> = {
  device: that(
    'a device or its name',
    (value) => typeof value === 'string' || (typeof value === 'object' && value !== null),
  ),
};

/**
 * Loads a file that `save` has written: a program that runs without its source, or tensors and plain data. From a
 * path or URL of a file, or from the bytes.
 *
 * Nothing of the file is evaluated, and everything in it is looked at before it is used. Throws DataError
 * that names what is damaged and where.
 */
export async function load(
  source: string | URL | Uint8Array | ArrayBuffer,
  options: LoadFileOptions = {},
): Promise<unknown> {
  expectOptions('load', options, loadKinds);
  const bytes = await bytesFrom(source);
  const { device = currentDevice() } = options;
  const { header, data } = parseFile(bytes);
  const target = typeof device === 'string' ? deviceNamed(device) : device;
  const tensors = new TensorReader(header.get('tensors'), data, target);
  try {
    return header.has('program')
      ? readProgram(header.get('program'), tensors, target)
      : readValue(header.get('value'), tensors);
  } catch (error) {
    tensors.disposeAll();
    throw error instanceof TostaticError ? error : notReadable(error);
  } finally {
    tensors.close();
  }
}

/** For what no check has named; the file is still the only thing that can be wrong. */
function notReadable(cause: unknown): DataError {
  const given = cause instanceof Error ? cause.message : String(cause);
  return badFile('its contents', given, 'what save() writes', cause);
}

/** Loads a file that must contain a program. Throws ArgumentError if it contains something else. */
export async function loadProgram(
  source: string | URL | Uint8Array | ArrayBuffer,
  options: LoadFileOptions = {},
): Promise<LoadedProgram> {
  const loaded = await load(source, options);
  if (typeof loaded === 'function') return loaded as LoadedProgram;
  throw new ArgumentError({
    what: 'loadProgram: the file holds no program',
    given: 'tensors or plain data',
    expected: 'a file that save() has made of a captured function',
    remedy: 'use load() for it',
  });
}

async function bytesFrom(source: string | URL | Uint8Array | ArrayBuffer): Promise<Uint8Array> {
  if (source instanceof Uint8Array) return source;
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  return readBytes(source);
}
