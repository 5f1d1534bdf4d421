import { ArgumentError } from '../errors/errors.ts';
import { expectOptions } from '../options/expect-options.ts';
import { oneOf } from '../options/option-kinds.ts';
import { type ByteSource, openSource, type WeightSource } from './byte-source.ts';
import { readNpy, readNpz } from './npy.ts';
import { readSafetensors } from './safetensors.ts';
import { readIndex } from './shards.ts';
import { readTorch } from './torch-file.ts';
import type { StoredTensor } from './weight.ts';
import { Weights } from './weights.ts';
import { readZip } from './zip.ts';

const weightFormats = ['safetensors', 'index', 'npy', 'npz', 'torch'] as const;
export type WeightFormat = (typeof weightFormats)[number];

export interface OpenWeightsOptions {
  /** Detected from the first bytes by default. */
  readonly format?: WeightFormat;
}

/**
 * Opens a weight file: safetensors, the index of a sharded file (`*.index.json`), NumPy's `.npy` and `.npz`, or a
 * PyTorch state dictionary. Reads the descriptions of the tensors, not their data, and evaluates nothing. Throws
 * DataError naming what is damaged and where.
 */
export async function openWeights(
  source: WeightSource,
  options: OpenWeightsOptions = {},
): Promise<Weights> {
  expectOptions('openWeights', options, { format: oneOf(...weightFormats) });
  const bytes = await openSource(source);
  try {
    const format = options.format ?? (await formatOf(bytes));
    const { tensors, metadata = new Map(), close } = await read(bytes, format, source);
    return new Weights(tensors, metadata, async () => {
      await bytes.close();
      await close?.();
    });
  } catch (error) {
    await bytes.close();
    throw error;
  }
}

interface Contents {
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  readonly metadata?: ReadonlyMap<string, string>;
  readonly close?: () => Promise<void>;
}

async function read(
  bytes: ByteSource,
  format: WeightFormat,
  source: WeightSource,
): Promise<Contents> {
  switch (format) {
    case 'safetensors':
      return readSafetensors(bytes);
    case 'index':
      return readIndex(bytes, folderOf(source));
    case 'npy':
      return { tensors: new Map([['array', await readNpy(bytes)]]) };
    case 'npz':
      return { tensors: await readNpz(bytes) };
    case 'torch':
      return { tensors: await readTorch(bytes) };
  }
}

async function formatOf(source: ByteSource): Promise<WeightFormat> {
  const start = await source.read(0, Math.min(source.size, 9));
  if (start[0] === 0x93 && start[1] === 0x4e) return 'npy';
  if (start[0] === 0x50 && start[1] === 0x4b) {
    const names = [...(await readZip(source)).keys()];
    return names.every((name) => name.endsWith('.npy')) ? 'npz' : 'torch';
  }
  // Legacy PyTorch files begin with a pickle of protocol 2.
  if (start[0] === 0x80 && start[1] === 0x02 && start[2] === 0x8a) return 'torch';
  if (/\.json$/.test(source.name)) return 'index';
  return 'safetensors';
}

function folderOf(source: WeightSource): string | URL {
  if (source instanceof URL) return new URL('.', source);
  if (typeof source !== 'string') {
    throw new ArgumentError({
      what: 'openWeights: an index of other files needs to know where they are',
      given: 'the bytes of an index',
      expected: 'its path or URL',
      remedy: 'pass the path or URL, or open each file by itself',
    });
  }
  if (/^https?:/.test(source)) return new URL('.', source);
  return source.slice(0, Math.max(source.lastIndexOf('/'), source.lastIndexOf('\\')) + 1);
}
