import type { Allocator } from '../memory/allocator.ts';
import type { DType, TypedArray } from '../spec/dtype.ts';
import type { Holder } from './holder.ts';
import type { Attrs, KernelOp } from './kernel-op.ts';
import type { TensorMeta } from './tensor-meta.ts';

/**
 * How values are held: `cpu` in memory with addresses, `gpu` in memory that is only read asynchronously, `meta` not at
 * all. Every device is of one of these kinds.
 */
export type DeviceKind = 'cpu' | 'gpu' | 'meta';

/**
 * Where a kernel finds one operand. `Tensor` is one; the executor keeps one per value and changes its
 * holder from run to run, so that a launch allocates nothing.
 */
export interface Operand {
  readonly holder: Holder | null;
  /** Index of the first element, in elements. */
  readonly offset: number;
}

/**
 * A kernel bound to dtypes, shapes and strides; called once per run. Issued synchronously on every
 * device; what a device computes later shows its errors at the next read. `now`: numbers that may differ
 * from those that it was bound with; only of attributes that `launchAttrs` names.
 */
export type Launch = (inputs: readonly Operand[], outputs: readonly Operand[], now?: Attrs) => void;

export interface Device {
  /** The name by which `device('name')` and `init('name')` find it. */
  readonly name: string;
  readonly kind: DeviceKind;
  readonly allocator: Allocator;
  /** Its kernels sum in the order of `numerics/blocks.ts`: a sum that is done in steps has the same bits. */
  readonly sumsInBlocks: boolean;
  /** Its kernels may write over the operands that op records name for it. */
  readonly overwritesOperands: boolean;
  /** It has kernels for fused ops, which take no scratch memory. */
  readonly fusesPointwise: boolean;
  /** Operands and results, together, that one fused kernel may have. */
  readonly mostFusedBuffers: number;
  /** Columns of each result that a kernel of attention by tiles may have; 0: there is no such kernel. */
  readonly mostTileColumns: number;
  /** Bytes besides all tensors for values between the stages of a staged op; 0: it runs none. */
  readonly innerBytes: number;
  /** Elements are stored in their dtype; false: as float32, in which integers are exact to ±2^24. */
  readonly typedElements: boolean;
  /**
   * Resolves with the driver's words when it has taken the device away, after which only another one helps:
   * `await init('gpu')`. Not on shutdown; omitted where devices can't be lost.
   */
  readonly lost?: Promise<string>;
  /** Bytes of one element in this device's memory. Throws DTypeError for a dtype that the device doesn't store. */
  elementBytes(dtype: DType): number;
  /**
   * Binds an op's kernel to its operands' metas. Offsets in the metas are a hint only for kernels that
   * bake them in: a launch must honour the offsets of its operands.
   * Throws DeviceError when the device has no such kernel.
   */
  prepare(
    op: KernelOp,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
  ): Launch;
  /** Bytes that a launch takes from the allocator besides its outputs, and frees before it returns. */
  scratchBytes(
    op: KernelOp,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
  ): number;
  /**
   * Whether the op's kernel takes operands that are parts of one buffer; omitted: all do. Asked where the allocator has
   * regions.
   */
  bindsParts?(
    op: KernelOp,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
  ): boolean;
  /** Writes a whole contiguous tensor. */
  upload(data: TypedArray, meta: TensorMeta, target: Operand): void;
  /** Reads a tensor, any strides, in row-major order, after everything issued before. */
  download(meta: TensorMeta, source: Operand): Promise<TypedArray>;
  /**
   * Reads a tensor synchronously, for the method or function named `use`. Throws DeviceError where the device can only
   * read asynchronously.
   */
  downloadSync(meta: TensorMeta, source: Operand, use?: string): TypedArray;
  /**
   * Throws unless a value that comes from a GPU has landed. Only devices have it that keep values of others, and compute
   * none.
   */
  expectLanded?(meta: TensorMeta, source: Operand): void;
  /** Overwrites memory with `poisonByte`; undefined on devices whose memory can't be written by address. */
  poison?(ptr: number, bytes: number): void;
}
