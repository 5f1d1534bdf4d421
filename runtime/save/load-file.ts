import { currentDevice, deviceNamed } from '../device/current.ts';
import type { Device } from '../device/device.ts';
import { ArgumentError, type DataError, TostaticError } from '../errors/errors.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { that } from '../options/option-kinds.ts';
import { parseFile } from './file/container.ts';
import { badFile, type Field } from './file/field.ts';
import { readBytes } from './file/files.ts';
import type { LoadedProgram } from './loaded-program.ts';
import type { BytePredictor, readProgram } from './program-format.ts';
import { TensorReader } from './tensors.ts';
import { readValue } from './value-format.ts';

export interface LoadFileOptions {
  /** The device, or its name, that receives the tensors and runs the programs. The current device by default. */
  readonly device?: Device | string;
}

const loadKinds: OptionKinds<LoadFileOptions> = {
  device: that(
    'a device or its name',
    (value) => typeof value === 'string' || (typeof value === 'object' && value !== null),
  ),
};

/** Returns the reader of programs once all ops that the file names are defined. */
export type ProgramReader = (
  program: Field,
  device: Device,
) => Promise<{ readonly read: typeof readProgram; readonly predict: BytePredictor }>;

/** A file: its path, URL or bytes. */
export type FileSource = string | URL | Uint8Array | ArrayBuffer;

/** Implements `load` with a given program reader. */
export async function loadFile(
  source: FileSource,
  options: LoadFileOptions,
  reader: ProgramReader,
): Promise<unknown> {
  expectOptions('load', options, loadKinds);
  const bytes = await bytesFrom(source);
  const { device = currentDevice() } = options;
  const { header, data } = parseFile(bytes);
  const target = typeof device === 'string' ? deviceNamed(device) : device;
  const programs = header.has('program') ? await reader(header.get('program'), target) : null;
  const tensors = new TensorReader(header.get('tensors'), data, target);
  try {
    return programs
      ? programs.read(header.get('program'), tensors, target, programs.predict)
      : readValue(header.get('value'), tensors);
  } catch (error) {
    tensors.disposeAll();
    throw error instanceof TostaticError ? error : notReadable(error);
  } finally {
    tensors.close();
  }
}

/** Returns the error for a failure that no check detected; only the file can have caused it. */
function notReadable(cause: unknown): DataError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return badFile('its contents', reason, 'what save() writes', cause);
}

/** Implements `loadProgram` with a given program reader. */
export async function loadProgramFile(
  source: FileSource,
  options: LoadFileOptions,
  reader: ProgramReader,
): Promise<LoadedProgram> {
  const loaded = await loadFile(source, options, reader);
  if (typeof loaded === 'function') return loaded as LoadedProgram;
  throw new ArgumentError({
    what: 'loadProgram: the file holds no program',
    given: 'tensors or plain data',
    expected: 'a file that save() has made of a captured function',
    remedy: 'use load() for it',
  });
}

async function bytesFrom(source: FileSource): Promise<Uint8Array> {
  if (source instanceof Uint8Array) return source;
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  return readBytes(source);
}
