import type { Device, Operand } from '../device/device.ts';
import type { Holder } from '../device/holder.ts';
import { formatSpec, type TensorMeta } from '../device/tensor-meta.ts';
import { AutogradError, DTypeError } from '../errors/errors.ts';
import { wrongValue } from '../options/expect-options.ts';
import { type DType, type DTypeOf, dtypes } from '../spec/dtype.ts';
import { isContiguous, normalizeDim, type Shape, sizeOf } from '../spec/shape.ts';
import { disposedError } from './disposed-error.ts';
import type { GradEdge, HookEntry } from './grad-node.ts';
import { type HandleList, track } from './lifetime.ts';

/** The resources that a tensor owns, released once by `dispose()` or by the garbage collector. */
interface Lease {
  holder: Holder | null;
  edge: GradEdge | null;
  family: FamilyLease | null;
  /** Whether the handle is the base of its family. */
  isBase: boolean;
}

/** The state that the live handles of a view family own together. */
export interface FamilyLease {
  /** The number of live handles. */
  live: number;
  /** The edge of a released base, from which views derive their new places in the graph. */
  edge: GradEdge | null;
  /** The base's lease if only its views keep it: released with the last of them. */
  orphan: Lease | null;
}

/** A tensor and the views of it whose gradients flow through it; see `autograd/view-family.ts`. */
export interface ViewFamily {
  readonly base: Tensor;
  readonly lease: FamilyLease;
  /** Incremented by every recorded write to the memory. */
  readonly version: number;
  /** Updates a view's place in the graph after the latest write. */
  refresh(view: Tensor): void;
}

function leaveFamily(lease: Lease): void {
  const { family } = lease;
  if (!family) return;
  lease.family = null;
  family.live--;
  const { orphan } = family;
  if (family.live === 1 && orphan) {
    family.orphan = null;
    releaseLease(orphan);
  } else if (family.live === 0) {
    family.edge?.node.release();
    family.edge = null;
  }
}

function releaseLease(lease: Lease): void {
  if (lease.family && lease.isBase && lease.family.live > 1) {
    lease.family.edge = lease.edge;
    lease.edge = null;
  }
  leaveFamily(lease);
  if (lease.holder) {
    lease.holder.handles--;
    lease.holder.release();
  }
  lease.edge?.node.release();
  lease.holder = null;
  lease.edge = null;
}

/**
 * The safety net for forgotten tensors: memory is released some time after the handle becomes unreachable. Disposed
 * tensors stay registered, with an empty lease: unregistering costs more than the rest of an op.
 */
const collected = new FinalizationRegistry<Lease>(releaseLease);

/** The value of a program under construction that a traced tensor represents. */
export interface TracedValue {
  readonly builder: object;
  readonly value: number;
  /** Returns the number of in-place writes to its memory so far. */
  readonly version: () => number;
  /** Returns the number of program values that share its memory. */
  readonly sharing: () => number;
}

/**
 * A handle: meta (dtype, shape, strides, offset, device), autograd meta and a reference to a holder. Several
 * handles (views, detached copies) may share one holder. A handle without a holder is traced, disposed, or the
 * meta-only copy of a value whose data is unused.
 *
 * `D` is the statically known dtype. A plain `Tensor` may have any dtype and is assignable to a variable of a
 * known dtype: `let h = zeros([2]); h = cell(x, h)`.
 */
// biome-ignore lint/suspicious/noExplicitAny: as an argument, `any` goes with every dtype, in both directions.
export class Tensor<D extends DType = any> implements TensorMeta, Operand {
  readonly dtype: DTypeOf<D>;
  readonly shape: Shape;
  readonly strides: readonly number[];
  readonly offset: number;
  readonly device: Device;
  /** Set for tensors of a program under construction; null for tensors with data. */
  readonly traced: TracedValue | null;
  readonly #lease: Lease;
  #requiresGrad = false;
  #family: ViewFamily | null = null;
  /** The family version that this handle's place in the graph belongs to. */
  #familyVersion = 0;
  /** The leaf that this handle represents in the graph; null for leaves themselves and for results. */
  #leaf: Tensor | null = null;
  /** The gradient that backward accumulates on leaves that require one. */
  grad: Tensor | null = null;
  /** The hooks of a leaf; hooks of results are stored on the node. */
  hooks: HookEntry[] | null = null;
  /** Set by `retainGrad()`: backward also fills `.grad` of this result. */
  retainsGrad = false;
  // Private fields, so that they can change in a handle that the user has frozen.
  #list: HandleList | null = null;
  #hasHiddenBase = false;
  #place = 0;

  /** Takes over one reference to `holder`. */
  constructor(meta: TensorMeta, holder: Holder | null, traced: TracedValue | null = null) {
    // `new Tensor([1, 2])` creates a tensor in PyTorch.
    if (!meta?.dtype) throw wrongValue('new Tensor', 'data', meta, 'tensor([1, 2])');
    this.dtype = meta.dtype as DTypeOf<D>;
    this.shape = meta.shape;
    this.strides = meta.strides;
    this.offset = meta.offset;
    this.device = meta.device;
    this.traced = traced;
    this.#lease = { holder, edge: null, family: null, isBase: false };
    if (holder) {
      holder.handles++;
      track(this);
    }
  }

  get holder(): Holder | null {
    return this.#lease.holder;
  }

  /** The list that tracks this handle; see `lifetime.ts`. */
  get list(): HandleList | null {
    return this.#list;
  }

  /** Its index in the list. */
  get place(): number {
    return this.#place;
  }

  /** Sets the list that tracks this handle, and its index there. */
  trackIn(list: HandleList | null, index: number): void {
    this.#list = list;
    this.#place = index;
  }

  /** The edge where backward continues; null for leaves and tensors without gradient. */
  get gradEdge(): GradEdge | null {
    if (this.#family !== null) this.#followFamily(this.#family);
    return this.#lease.edge;
  }

  /** Whether this is a view whose base recorded writes don't reach: made in `noGrad`, or of a disposed tensor. */
  get hasHiddenBase(): boolean {
    return this.#hasHiddenBase;
  }

  hideBase(): void {
    this.#hasHiddenBase = true;
  }

  get family(): ViewFamily | null {
    return this.#family;
  }

  /** Makes this handle observe recorded writes to the family's memory. */
  joinFamily(family: ViewFamily): void {
    // Updates its place in the graph by writes in the family that it leaves.
    if (this.#family !== null) this.#followFamily(this.#family);
    leaveFamily(this.#lease);
    this.#family = family;
    this.#familyVersion = family.version;
    this.#lease.family = family.lease;
    this.#lease.isBase = family.base === this;
    family.lease.live++;
  }

  /** Refreshes a view's place in the graph if the memory was written since it was last requested. */
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

  /** The leaf that accumulates this handle's gradient. */
  get leaf(): Tensor {
    return this.#leaf ?? this;
  }

  /** Makes this handle represent a leaf that requires a gradient and shares its value. */
  representLeaf(leaf: Tensor): void {
    this.#leaf = leaf;
    this.#requiresGrad = true;
  }

  get requiresGrad(): boolean {
    if (this.#family !== null) this.#followFamily(this.#family);
    return this.#requiresGrad;
  }

  /**
   * Sets whether a leaf requires a gradient, in place. Throws DTypeError for a dtype without gradients,
   * AutogradError for a result.
   */
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

  /** PyTorch's name for `rank`. */
  get ndim(): number {
    return this.shape.length;
  }

  /** Bytes of one element. */
  get itemsize(): number {
    return dtypes[this.dtype].bytes;
  }

  /** Bytes of all elements if stored contiguously. */
  get nbytes(): number {
    return this.numel() * this.itemsize;
  }

  /**
   * Returns the shape, or the size of one dimension; negative dimensions count from the end. Throws ArgumentError
   * if there is no such dimension.
   */
  size(): Shape;
  size(dim: number): number;
  size(dim?: number): Shape | number {
    return entryOf(this.shape, dim, 'size');
  }

  /** Returns the strides in elements, or the stride of one dimension. */
  stride(): readonly number[];
  stride(dim: number): number;
  stride(dim?: number): readonly number[] | number {
    return entryOf(this.strides, dim, 'stride');
  }

  /** Returns the number of elements. */
  numel(): number {
    return sizeOf(this.shape);
  }

  get isContiguous(): boolean {
    return isContiguous(this.shape, this.strides);
  }

  get disposed(): boolean {
    return this.#lease.holder === null && this.traced === null;
  }

  /** Returns the holder. Throws DisposedError, which names the `use`. */
  holderFor(use: string): Holder {
    const { holder } = this.#lease;
    if (holder) return holder;
    throw disposedError(this, use);
  }

  /** Returns another handle to the same holder, without gradient history. */
  detach(): Tensor<D> {
    return new Tensor<D>(this, this.holder?.retain() ?? null, this.traced);
  }

  /** Registers the handle with the garbage collector, which releases its memory if it is never disposed. */
  leaveToCollector(): void {
    collected.register(this, this.#lease);
  }

  /** Drops this handle's reference to the memory, but keeps its meta and its graph history. */
  donate(): void {
    const { holder } = this.#lease;
    if (!holder) return;
    this.#lease.holder = null;
    holder.handles--;
    holder.release();
  }

  /** Disposes the tensor, or leaves it to its views: the last of them disposes it. */
  disposeAfterViews(): void {
    const { family } = this.#lease;
    if (family && this.#lease.isBase && family.live > 1 && !this.disposed) {
      family.orphan = this.#lease;
    } else this.dispose();
  }

  /** Frees the memory unless another handle, saved value or scope holds it. Calling it twice is harmless. */
  dispose(): void {
    this.#list?.remove(this);
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
  // Like PyTorch, which also rejects any dimension of a scalar.
  return dim === undefined ? entries : entries[normalizeDim(dim, entries.length, op)]!;
}
