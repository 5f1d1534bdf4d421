import { currentDevice, deviceOf } from '../device/current.ts';
import type { Device } from '../device/device.ts';
import { formatSpec } from '../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { isModule } from '../nn/module/is-module.ts';
import type { Module } from '../nn/module/module.ts';
import {
  type LoadResult,
  loadKinds,
  nameAmong,
  type StateNames,
} from '../nn/module/module-state.ts';
import { expectArguments, expectOptions } from '../options/expect-options.ts';
import { that } from '../options/option-kinds.ts';
import type { DType } from '../spec/dtype.ts';
import { formatShape, sameShape } from '../spec/shape.ts';
import { keep } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { elementTypes } from './element-type.ts';
import { uploadInto, uploadNew } from './upload.ts';
import type { StoredTensor } from './weight.ts';

export interface LoadWeightsOptions {
  /** Requires the same names on both sides; true by default. */
  readonly strict?: boolean;
  /** Maps the module's tensor names to those in the file if they differ; `torchName` for PyTorch's spelling. */
  readonly names?: StateNames;
}

/** Facts about a tensor that are known before its data is read. */
export interface WeightInfo {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

const moduleKinds = { module: that('a module', isModule) };

/** The tensors of an open file. Data is read on request, by range if the source allows it. */
export class Weights implements AsyncDisposable {
  /** Strings that the file contains besides its tensors. */
  readonly metadata: ReadonlyMap<string, string>;
  readonly #tensors: ReadonlyMap<string, StoredTensor>;
  readonly #close: () => Promise<void>;

  constructor(
    tensors: ReadonlyMap<string, StoredTensor>,
    metadata: ReadonlyMap<string, string>,
    close: () => Promise<void>,
  ) {
    this.#tensors = tensors;
    this.metadata = metadata;
    this.#close = close;
  }

  names(): string[] {
    return [...this.#tensors.keys()];
  }

  has(name: string): boolean {
    return this.#tensors.has(name);
  }

  info(name: string): WeightInfo {
    const { type, shape } = this.#stored(name);
    return { dtype: elementTypes[type].dtype, shape };
  }

  /** Reads one tensor, by default to the current device. Throws ArgumentError for an unknown name. */
  async tensor(name: string, device: Device | string = currentDevice()): Promise<Tensor> {
    return keep(await uploadNew(this.#stored(name), deviceOf(device)));
  }

  /** Reads all tensors by name, for `loadStateDict` and programs. */
  async state(device: Device | string = currentDevice()): Promise<Record<string, Tensor>> {
    const entries: [string, Tensor][] = [];
    try {
      for (const name of this.#tensors.keys())
        entries.push([name, await this.tensor(name, device)]);
    } catch (error) {
      for (const [, tensor] of entries) tensor.dispose();
      throw error;
    }
    return Object.fromEntries(entries);
  }

  /**
   * Writes the data into the module's own tensors, on any device, in chunks of 4 MiB, without a second copy of the
   * model on the device or in this process. Names and shapes are compared before anything is written. Throws
   * ArgumentError for names, ShapeError for shapes.
   */
  async loadInto(module: Module, options: LoadWeightsOptions = {}): Promise<LoadResult> {
    expectArguments('loadInto', { module }, moduleKinds);
    expectOptions('loadInto', options, loadKinds);
    const plan = this.#match(module.stateDict(), options);
    for (const { own, stored } of plan.pairs) await uploadInto(stored, own);
    return { missing: plan.missing, unexpected: plan.unexpected };
  }

  /** Closes the file; tensors already read remain valid. */
  async close(): Promise<void> {
    await this.#close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #stored(name: string): StoredTensor {
    const stored = this.#tensors.get(name);
    if (stored) return stored;
    throw new ArgumentError({
      what: 'weights: the file has no such tensor',
      given: JSON.stringify(name),
      expected: `one of ${listed(this.names())}`,
      remedy: 'look at names()',
    });
  }

  #match(state: Readonly<Record<string, Tensor>>, { strict = true, names }: LoadWeightsOptions) {
    const pairs: { own: Tensor; stored: StoredTensor; name: string }[] = [];
    const found = new Set<string>();
    const loaded = new Set<Tensor>();
    const absent: string[] = [];
    for (const [name, tensor] of Object.entries(state)) {
      const there = nameAmong(name, names, (each) => this.#tensors.has(each));
      const stored = this.#tensors.get(there);
      if (!stored) {
        absent.push(name);
        continue;
      }
      found.add(there);
      loaded.add(tensor);
      pairs.push({ own: tensor, stored, name });
    }
    // A tensor with several names (tied weights) may be in the file under only one.
    const missing = absent.filter((name) => !loaded.has(state[name]!));
    const unexpected = this.names().filter((name) => !found.has(name));
    if (strict && missing.length + unexpected.length > 0) {
      throw new ArgumentError({
        what: "weights: the names of the file don't fit those of the module",
        given: `missing: ${listed(missing)}; unexpected: ${listed(unexpected)}`,
        expected: `the module's ${Object.keys(state).length} names`,
        remedy: 'map them with { names }, or pass { strict: false } to load what fits',
      });
    }
    const wrong = pairs.filter(({ own, stored }) => !sameShape(own.shape, stored.shape));
    if (wrong.length > 0) {
      const shapes = wrong.map(({ name, stored }) => `${name} ${formatShape(stored.shape)}`);
      throw new ShapeError({
        what: 'weights: the shapes of the file are not those of the module',
        given: listed(shapes),
        expected: listed(wrong.map(({ name, own }) => `${name} ${formatSpec(own)}`)),
        remedy: 'build the module with the sizes that the weights were made with',
      });
    }
    return { pairs, missing, unexpected };
  }
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  const rest = names.length > 12 ? `, … (${names.length})` : '';
  return names.slice(0, 12).join(', ') + rest;
}
