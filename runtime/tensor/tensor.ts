import type { Device, Operand } from '../device/device.ts';
import type { Holder } from '../device/holder.ts';
import { formatSpec, type TensorMeta } from '../device/tensor-meta.ts';
import { ArgumentError, AutogradError, DTypeError } from '../errors/errors.ts';
import { shown, wrongValue } from '../options/expect-options.ts';
import { type DType, type DTypeOf, dtypes } from '../spec/dtype.ts';
import { isContiguous, normalizeDim, type Shape, sizeOf } from '../spec/shape.ts';
import { disposedError } from './disposed-error.ts';
import type { GradEdge, HookEntry } from './grad-node.ts';
import { type HandleList, track } from './lifetime.ts';

/** The resources that a tensor owns; released once, by `dispose()` or by the garbage collector. */
interface Lease {
  holder: Holder | null;
  edge: GradEdge | null;
  handles: HandleCount | null;
}

/** Number of handles in a family of views. */
export interface HandleCount {
  live: number;
}

/** A tensor and the views of it whose gradients go through it; see `autograd/view-family.ts`. */
export interface ViewFamily {
  readonly base: Tensor;
  readonly handles: HandleCount;
  /** Grows with every recorded write to the memory. */
  readonly version: number;
  /** Gives a view its place after the last write. */
  refresh(view: Tensor): void;
}

function releaseLease(lease: Lease): void {
  if (lease.handles) lease.handles.live--;
  lease.handles = null;
  if (lease.holder) {
    lease.holder.handles--;
    lease.holder.release();
  }
  lease.edge?.node.release();
  lease.holder = null;
  lease.edge = null;
}

/**
 * The net under forgotten tensors: memory comes back some time after the handle is unreachable. Nothing is
 * unregistered, which costs more than all the rest of an op: of a disposed tensor the lease is empty.
 */
const collected = new FinalizationRegistry<Lease>(releaseLease);

/** A tensor of a program under construction: which value of which builder it represents. */
export interface TracedValue {
  readonly builder: object;
  readonly value: number;
  /** Number of writes in place to its memory so far. */
  readonly version: () => number;
  /** How many values of the program show its memory. */
  readonly sharing: () => number;
}

/**
 * A handle: meta (dtype, shape, strides, offset, device), autograd meta and a reference to a holder.
 * Several handles (views, detached copies) may share one holder. A handle without a holder is either
 * traced, disposed, or the meta-only copy of a value whose data is unused.
 *
 * `D` is what TypeScript knows of the dtype. A plain `Tensor` may have any dtype, and may be assigned to a variable of
 * a known one: `let h = zeros([2]); h = cell(x, h)`.
 */
// biome-ignore lint/suspicious/noExplicitAny: as an argument, `any` goes with every dtype, in both directions.
export class Tensor<D extends DType = any> implements TensorMeta, Operand {
  readonly dtype: DTypeOf<D>;
  readonly shape: Shape;
  readonly strides: readonly number[];
  readonly offset: number;
  readonly device: Device;
  /** For tensors of a program under construction; null for tensors with data. */
  readonly traced: TracedValue | null;
  readonly #lease: Lease;
  #requiresGrad = false;
  #family: ViewFamily | null = null;
  /** The family's version that this handle's place in the graph belongs to. */
  #familyVersion = 0;
  /** The leaf that this handle represents in the graph; null for leaves themselves, and results. */
  #leaf: Tensor | null = null;
  /** Accumulated by backward on leaves that require a gradient. */
  grad: Tensor | null = null;
  /** Hooks of a leaf; those of results are with the node. */
  hooks: HookEntry[] | null = null;
  /** Set by `retainGrad()`: a result whose `.grad` backward fills too. */
  retainsGrad = false;
  /** The list that holds this handle until its end, and the place there; see `lifetime.ts`. */
  list: HandleList | null = null;
  place = 0;

  /** Takes over one ownership of `holder`. */
  constructor(meta: TensorMeta, holder: Holder | null, traced: TracedValue | null = null) {
    if (meta?.dtype === undefined) throw noMeta(meta);
    this.dtype = meta.dtype as DTypeOf<D>;
    this.shape = meta.shape;
    this.strides = meta.strides;
    this.offset = meta.offset;
    this.device = meta.device;
    this.traced = traced;
    this.#lease = { holder, edge: null, handles: null };
    if (holder) {
      holder.handles++;
      track(this);
    }
  }

  get holder(): Holder | null {
    return this.#lease.holder;
  }

  /** Where backward continues from here; null for leaves and tensors without gradient. */
  get gradEdge(): GradEdge | null {
    if (this.#family !== null) this.#followFamily(this.#family);
    return this.#lease.edge;
  }

  get family(): ViewFamily | null {
    return this.#family;
  }

  /** From now on this handle sees recorded writes to the memory of the family. */
  joinFamily(family: ViewFamily): void {
    if (this.#lease.handles) this.#lease.handles.live--;
    this.#family = family;
    this.#familyVersion = family.version;
    this.#lease.handles = family.handles;
    family.handles.live++;
  }

  /** The memory was written: the views' places in the graph are made again when they are requested. */
  #followFamily(family: ViewFamily): void {
    if (this.#familyVersion === family.version) return;
    this.#familyVersion = family.version;
    if (family.base !== this) family.refresh(this);
  }

  /** Takes over one reference to the node. */
  setGradEdge(edge: GradEdge): void {
    this.#lease.edge?.node.release();
    this.#lease.edge = edge;
    this.#requiresGrad = true;
  }

  /** The leaf whose gradient this handle's gradient is. */
  get leaf(): Tensor {
    return this.#leaf ?? this;
  }

  /** Makes this handle represent a leaf that requires a gradient: another handle on its value. */
  standFor(leaf: Tensor): void {
    this.#leaf = leaf;
    this.#requiresGrad = true;
  }

  get requiresGrad(): boolean {
    if (this.#family !== null) this.#followFamily(this.#family);
    return this.#requiresGrad;
  }

  /** In place, for leaves. */
  requiresGrad_(value = true): this {
    if (typeof value !== 'boolean') {
      throw wrongValue('requiresGrad_', 'value', value, 'true or false');
    }
    if (value && !dtypes[this.dtype].floating) {
      throw new DTypeError({
        what: 'requiresGrad_: only floating-point tensors have gradients',
        given: formatSpec(this),
        expected: 'float32',
        remedy: "cast it first: x.to('float32')",
      });
    }
    if (!value && !this.isLeaf) {
      throw new AutogradError({
        what: 'requiresGrad_: only leaves can be frozen',
        given: `a ${formatSpec(this)} tensor that was computed from others`,
        expected: 'a tensor without gradient history',
        remedy: 'use detach() for the same value without history, or compute it in noGrad',
      });
    }
    this.#requiresGrad = value;
    return this;
  }

  get isLeaf(): boolean {
    return this.gradEdge === null;
  }

  get rank(): number {
    return this.shape.length;
  }

  /** PyTorch's name of `rank`. */
  get ndim(): number {
    return this.shape.length;
  }

  /** Bytes of one element. */
  get itemsize(): number {
    return dtypes[this.dtype].bytes;
  }

  /** Bytes of all elements, as if they were contiguous. */
  get nbytes(): number {
    return this.numel() * this.itemsize;
  }

  /** The shape, or the size of one dimension, counted from the end when negative; ArgumentError for others. */
  size(): Shape;
  size(dim: number): number;
  size(dim?: number): Shape | number {
    return entryOf(this.shape, dim, 'size');
  }

  /** The strides in elements, or that of one dimension. */
  stride(): readonly number[];
  stride(dim: number): number;
  stride(dim?: number): readonly number[] | number {
    return entryOf(this.strides, dim, 'stride');
  }

  /** Number of elements. */
  numel(): number {
    return sizeOf(this.shape);
  }

  get isContiguous(): boolean {
    return isContiguous(this.shape, this.strides);
  }

  get disposed(): boolean {
    return this.#lease.holder === null && this.traced === null;
  }

  /** The holder, or DisposedError naming what was about to use it. */
  holderFor(use: string): Holder {
    const { holder } = this.#lease;
    if (holder) return holder;
    throw disposedError(this, use);
  }

  /** Another handle on the same holder, without gradient history. */
  detach(): Tensor<D> {
    return new Tensor<D>(this, this.holder?.retain() ?? null, this.traced);
  }

  /** From now on the garbage collector says when the handle is forgotten. */
  leaveToCollector(): void {
    collected.register(this, this.#lease);
  }

  /** Gives up this handle's share in the memory; its meta and its place in the graph stay. */
  surrender(): void {
    const { holder } = this.#lease;
    if (!holder) return;
    this.#lease.holder = null;
    holder.handles--;
    holder.release();
  }

  /** Gives the memory back if no other handle, saved value or scope holds it. Twice is harmless. */
  dispose(): void {
    this.list?.remove(this);
    releaseLease(this.#lease);
    if (!this.retainsGrad) return;
    this.grad?.dispose();
    this.grad = null;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

function entryOf(
  entries: readonly number[],
  dim: number | undefined,
  op: string,
): readonly number[] | number {
  // As PyTorch, which knows no dimension of a scalar either.
  return dim === undefined ? entries : entries[normalizeDim(dim, entries.length, op)]!;
}

/** The error for `new Tensor([1, 2])`, which makes a tensor in PyTorch. */
function noMeta(given: unknown): ArgumentError {
  return new ArgumentError({
    what: 'Tensor: the class is for instanceof, and makes no tensor of data',
    given: shown(given),
    expected: 'a call of tensor()',
    remedy: 'write tensor([1, 2]), or zeros([2, 3])',
  });
}
