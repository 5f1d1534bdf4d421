import { expectTensors } from '../ops/record/expect-tensors.ts';
import { expectArguments } from '../options/expect-options.ts';
import { isTensor } from '../options/is-tensor.ts';
import { that } from '../options/option-kinds.ts';
import { writeBytes } from '../save/file/files.ts';
import type { Tensor } from '../tensor/tensor.ts';

const stateKinds = {
  state: that(
    'tensors by name, such as model.stateDict()',
    (state) => typeof state === 'object' && state !== null && Object.values(state).every(isTensor),
  ),
};

/** Returns names and tensors. Throws ArgumentError for any other value, DisposedError for a disposed tensor. */
export function tensorsByName(
  owner: string,
  state: Readonly<Record<string, Tensor>>,
): [name: string, tensor: Tensor][] {
  expectArguments(owner, { state }, stateKinds);
  const tensors = Object.entries(state);
  expectTensors(owner, ...tensors.map(([, tensor]) => tensor));
  return tensors;
}

/** Bytes produced in pieces, with a total length known in advance. */
export interface Pieces {
  readonly bytes: number;
  parts(): AsyncIterable<Uint8Array>;
}

/**
 * Writes a file piece by piece, atomically; without a path, the pieces are joined in memory. Throws DataError if
 * the path can't be written.
 */
export async function writePieces(
  path: string | URL | undefined,
  pieces: Pieces,
): Promise<Uint8Array | null> {
  const fs = globalThis.process?.getBuiltinModule?.('node:fs/promises');
  if (path === undefined || !fs) {
    const all = new Uint8Array(pieces.bytes);
    let at = 0;
    for await (const part of pieces.parts()) {
      all.set(part, at);
      at += part.length;
    }
    if (path === undefined) return all;
    // Throws the error for environments without files.
    await writeBytes(path, all);
    return null;
  }
  await writeBytes(path, pieces.parts());
  return null;
}

export const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);
