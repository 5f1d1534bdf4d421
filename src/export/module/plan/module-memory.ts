import { heap, pageBytes } from '../../../../runtime/device/cpu/core/heap.ts';
import type { TensorMeta } from '../../../../runtime/device/tensor-meta.ts';
import { alignedBytes } from '../../../../runtime/memory/allocator.ts';
import type { Primitive } from '../../../../runtime/save/primitive.ts';
import type { StateEntry } from '../../../../runtime/save/program-state.ts';
import type { SavedEntry } from '../../../../runtime/save/saved-entry.ts';
import { encodeSource, type SavedSource } from '../../../../runtime/save/saved-source.ts';
import { dtypes } from '../../../../runtime/spec/dtype.ts';
import { contiguousStrides, isContiguous, sizeOf } from '../../../../runtime/spec/shape.ts';
import { Tensor } from '../../../../runtime/tensor/tensor.ts';
import type { Place } from '../recording/record-plan.ts';
import { notInModule } from '../recording/recording-device.ts';

/** The facts of a tensor that determine where its elements are. */
export type Layout = Pick<TensorMeta, 'dtype' | 'shape' | 'strides'>;

/** A tensor in the memory of a module. */
interface Placed extends Layout {
  readonly place: Place;
}

/** One value of the state: a tensor with an address, or a number or text. */
type ModuleState =
  | { readonly name: string; readonly tensor: Placed; readonly isGradient: boolean }
  | { readonly name: string; readonly value: Primitive };

/** One saved program, with the values that it reads. */
export interface ModuleEntry {
  readonly saved: SavedEntry;
  readonly inputs: readonly TensorMeta[];
}

/**
 * The memory of a module: scratch memory of the kernels, the state, the arguments of a call, then the memory that
 * the run allocates. Arguments of several plans share their space.
 */
export class ModuleMemory {
  readonly state: readonly ModuleState[];
  /** The address of the state. */
  readonly stateAt: number;
  readonly stateBytes: Uint8Array;
  readonly argumentBytes: number;
  /** The address of a run's own memory. */
  readonly arenaAt: number;
  readonly #arguments: readonly ReadonlyMap<string, Place>[];

  /** `base`: the end of scratch memory. */
  constructor(base: number, entries: readonly StateEntry[], programs: readonly ModuleEntry[]) {
    this.stateAt = base;
    let end = base;
    const storages = new Map<unknown, number>();
    const take = (bytes: number): number => {
      end += alignedBytes(bytes);
      return end - alignedBytes(bytes);
    };
    const pieces: { readonly at: number; readonly bytes: Uint8Array }[] = [];
    const placeOf = ({ holder, offset }: Tensor): Place => {
      let ptr = storages.get(holder);
      if (ptr === undefined) {
        ptr = take(holder!.bytes);
        storages.set(holder, ptr);
        pieces.push({ at: ptr, bytes: heap.u8.slice(holder!.ptr, holder!.ptr + holder!.bytes) });
      }
      return { ptr, offset };
    };
    this.state = entries.map((entry, i): ModuleState => {
      const { name } = nameOf(entry, entries);
      if ('value' in entry) {
        const { value } = entry;
        if (!(value instanceof Tensor)) return { name, value };
        const { dtype, shape, strides } = value;
        const tensor = { dtype, shape, strides, place: placeOf(value) };
        return { name, tensor, isGradient: false };
      }
      const read = metaOf(i, programs);
      if (!read) return { name, value: null };
      const { gradient } = entry;
      const bytes = sizeOf(read.shape) * dtypes[read.dtype].bytes;
      const place = gradient ? placeOf(gradient) : { ptr: take(bytes), offset: 0 };
      return { name, tensor: { ...read, place }, isGradient: true };
    });
    this.stateBytes = new Uint8Array(end - base);
    for (const { at, bytes } of pieces) this.stateBytes.set(bytes, at - base);
    const argumentsAt = end;
    this.#arguments = programs.map(({ saved, inputs }) => {
      const places = new Map<string, Place>();
      let at = argumentsAt;
      saved.inputs.forEach(({ place }, k) => {
        const key = keyOf(place);
        if (place.kind === 'state' || places.has(key)) return;
        const { shape, strides, dtype } = inputs[k]!;
        if (!isContiguous(shape, strides)) {
          throw notInModule(
            printed(place),
            `strides ${strides.join()}, other than a typed array's`,
          );
        }
        places.set(key, { ptr: at, offset: 0 });
        at += alignedBytes(sizeOf(shape) * dtypes[dtype].bytes);
      });
      end = Math.max(end, at);
      return places;
    });
    this.argumentBytes = end - argumentsAt;
    this.arenaAt = end;
  }

  /** The address of an input of a program. */
  placeOf(program: number, source: SavedSource): Place {
    if (source.kind !== 'state') return this.#arguments[program]!.get(keyOf(source))!;
    const state = this.state[source.index]!;
    if ('tensor' in state) return state.tensor.place;
    throw notInModule(state.name, 'a tensor that the state does not have yet');
  }
}

export const keyOf = (source: SavedSource): string => JSON.stringify(encodeSource(source));

/** `args.0.mask` */
export function printed(source: SavedSource): string {
  return encodeSource(source)
    .join('.')
    .replace(/^argument/, 'args');
}

function nameOf(entry: StateEntry, entries: readonly StateEntry[]): { readonly name: string } {
  if (!('gradientOf' in entry)) return entry;
  return { name: `${entries[entry.gradientOf]!.name}.grad` };
}

/** Returns the layout of a gradient that a program reads. */
function metaOf(state: number, programs: readonly ModuleEntry[]): Layout | undefined {
  for (const { saved, inputs } of programs) {
    const k = saved.inputs.findIndex(
      ({ place }) => place.kind === 'state' && place.index === state,
    );
    if (k < 0) continue;
    const { dtype, shape } = inputs[k]!;
    return { dtype, shape, strides: contiguousStrides(shape) };
  }
  return undefined;
}

export const pagesFor = (bytes: number): number => Math.ceil(bytes / pageBytes);

/** The index of the first element, in elements of its dtype. */
export const indexAt = ({ ptr, offset }: Place, { dtype }: Layout): number =>
  ptr / dtypes[dtype].bytes + offset;
