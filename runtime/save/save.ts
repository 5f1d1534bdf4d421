import { DataWriter } from './file/container.ts';
import { writeBytes } from './file/files.ts';
import { GraphWriter } from './graph-format.ts';
import { type LoadedProgram, type ProgramParts, programParts } from './loaded-program.ts';
import { encodeProgram, type ProgramToSave } from './program-format.ts';
import { TensorWriter } from './tensors.ts';
import { encodeValue, type Savable } from './value-format.ts';

/**
 * Returns the bytes of a file with a loaded program in its current state, or with tensors and plain data such as
 * `{ model: model.stateDict(), optimizer: optimizer.stateDict(), epoch }`. With a path, also writes them there.
 */
export async function save(
  value: Savable | LoadedProgram,
  path?: string | URL,
): Promise<Uint8Array> {
  const parts = programParts(value);
  if (parts) return saveProgram(programToSave(parts), path);
  const tensors = new TensorWriter(false);
  return finish({ value: encodeValue(value, tensors) }, tensors, path);
}

export async function saveProgram(
  program: ProgramToSave,
  path: string | URL | undefined,
): Promise<Uint8Array> {
  const tensors = new TensorWriter(true);
  return finish({ program: encodeProgram(program, tensors) }, tensors, path);
}

async function finish(
  contents: object,
  tensors: TensorWriter,
  path: string | URL | undefined,
): Promise<Uint8Array> {
  const data = new DataWriter();
  const bytes = data.file({ ...contents, tensors: await tensors.write(data) });
  if (path !== undefined) await writeBytes(path, bytes);
  return bytes;
}

/** Returns a loaded program with its current state. */
function programToSave(parts: ProgramParts): ProgramToSave {
  const { name, inputSpec, state, entries } = parts;
  const everySize = parts.everySize.map(({ saved }) => saved);
  const graphs = new GraphWriter();
  const saved = entries.map(({ saved, planned }) => {
    return { ...saved, graph: planned && graphs.add(planned) };
  });
  return { name, inputSpec, state: state.entries(), entries: saved, everySize, graphs };
}
