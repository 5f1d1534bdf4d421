import type { Allocator } from '../memory/allocator.ts';
import type { DType, TypedArray } from '../spec/dtype.ts';
import type { Holder } from './holder.ts';
import type { Attrs, KernelOp } from './kernel-op.ts';
import type { TensorMeta } from './tensor-meta.ts';

/**
 * How a device stores values: `cpu` in addressable memory, `gpu` in memory that is read asynchronously, `meta` not at
 * all.
 */
export type DeviceKind = 'cpu' | 'gpu' | 'meta';

/**
 * The location of a kernel's operand. A `Tensor` is an operand; the executor has one per value and changes its holder
 * between runs, so that a launch allocates nothing.
 */
export interface Operand {
  readonly holder: Holder | null;
  /** The index of the first element, in elements. */
  readonly offset: number;
}

/**
 * A kernel bound to dtypes, shapes and strides; called once per run. Issued synchronously on every device; errors of
 * asynchronous computation appear at the next read. `now` contains the current values of attributes in `launchAttrs`,
 * which may differ from the bound ones.
 */
export type Launch = (inputs: readonly Operand[], outputs: readonly Operand[], now?: Attrs) => void;

export interface Device {
  /** The name used by `device('name')` and `init('name')`. */
  readonly name: string;
  readonly kind: DeviceKind;
  readonly allocator: Allocator;
  /** Whether kernels sum in the order of `numerics/blocks.ts`, so that a sum computed in steps is bitwise identical. */
  readonly sumsInBlocks: boolean;
  /** Whether kernels may overwrite the operands that op records declare. */
  readonly overwritesOperands: boolean;
  /** Whether there are kernels for fused ops, which take no scratch memory. */
  readonly fusesPointwise: boolean;
  /** The maximum number of operands and results of a fused kernel. */
  readonly mostFusedBuffers: number;
  /** The maximum number of result columns of tiled attention; 0 if there is no such kernel. */
  readonly mostTileColumns: number;
  /**
   * The bytes, in addition to all tensors, for values between the stages of a staged op; 0 if staged ops are
   * unsupported.
   */
  readonly innerBytes: number;
  /** Whether elements are stored in their dtype; otherwise as float32, in which integers are exact up to ±2^24. */
  readonly typedElements: boolean;
  /**
   * Resolves with the driver's message when the device is lost and must be replaced: `await init('gpu')`. Doesn't
   * resolve on shutdown; omitted for devices that can't be lost.
   */
  readonly lost?: Promise<string>;
  /** Returns the bytes of one element in this device's memory. Throws DTypeError for an unsupported dtype. */
  elementBytes(dtype: DType): number;
  /**
   * Binds an op's kernel to its operands' metas. Offsets in the metas are only a hint for kernels that bake them
   * in: a launch must honor its operands' offsets. Throws DeviceError if the device has no such kernel.
   */
  prepare(
    op: KernelOp,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
  ): Launch;
  /** Returns the bytes that a launch allocates besides its outputs and frees before it returns. */
  scratchBytes(
    op: KernelOp,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
  ): number;
  /**
   * Whether the op's kernel accepts operands that are parts of one buffer; if omitted, all do. Only called if the
   * allocator has regions.
   */
  bindsParts?(
    op: KernelOp,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
  ): boolean;
  /** Writes a complete contiguous tensor. */
  upload(data: TypedArray, meta: TensorMeta, target: Operand): void;
  /** Reads a tensor with any strides, in row-major order, after all previously issued work. */
  download(meta: TensorMeta, source: Operand): Promise<TypedArray>;
  /**
   * Reads a tensor synchronously, for the method or function `use`. Throws DeviceError if the device can only be
   * read asynchronously.
   */
  downloadSync(meta: TensorMeta, source: Operand, use?: string): TypedArray;
  /** Throws unless a value from a GPU has arrived. Only for devices that store other devices' values. */
  expectLanded?(meta: TensorMeta, source: Operand): void;
  /** Overwrites memory with `poisonByte`; undefined on devices whose memory can't be written by address. */
  poison?(ptr: number, bytes: number): void;
}
