import type { BackwardOptions } from '../backward/backward.ts';
import type { HookHandle } from '../backward/hooks.ts';
import type { Device } from '../device/device.ts';
import type { DType, TypedArrayOf } from '../spec/dtype.ts';
import type { GradHook } from '../tensor/grad-node.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { Nested, TensorSummary } from './nested.ts';
import type { TransferTarget } from './transfer.ts';

/** The methods of tensors in every entry point of the package. */
export interface BaseMethods<D extends DType> {
  /** Adds the gradient of this tensor to `.grad` of the leaves it was computed from. */
  backward(gradient?: Tensor | null, options?: BackwardOptions): void;
  /** Like `backward`, where gradients move from a GPU to leaves on another device: it waits for them. */
  backwardAsync(gradient?: Tensor | null, options?: BackwardOptions): Promise<void>;
  /** Sees, and may replace, the gradient of this tensor in every backward that reaches it. */
  registerHook(hook: GradHook): HookHandle;
  /** Lets backward fill `.grad` of this result too; it is disposed with the result. */
  retainGrad(): void;
  /** A copy with memory of its own. */
  clone(): Tensor<D>;
  /** Another dtype or device; the tensor itself when it is there already. */
  to<T extends DType>(dtype: T): Tensor<T>;
  to(device: Device | (string & {})): Tensor<D>;
  to(target: TransferTarget): Tensor;
  /** Like `to`, from a device that can only be read asynchronously, such as a GPU. */
  toAsync<T extends DType>(dtype: T): Promise<Tensor<T>>;
  toAsync(device: Device | (string & {})): Promise<Tensor<D>>;
  toAsync(target: TransferTarget): Promise<Tensor>;
  /** The elements in row-major order. On a GPU, after everything issued before. */
  data(): Promise<TypedArrayOf<D>>;
  /** The synchronous form; DeviceError if the device can only be read asynchronously. */
  dataSync(): TypedArrayOf<D>;
  /** The only element, as a number (0 or 1 for bool). */
  item(): Promise<number>;
  itemSync(): number;
  /** The values as one number or nested arrays, booleans for bool. */
  toArray(): Promise<Nested<D>>;
  toArraySync(): Nested<D>;
  /** `toArraySync` by PyTorch's name. */
  tolist(): Nested<D>;
  /** Whether the other one has the same shape and values. Reads both at once. */
  equal(other: Tensor): boolean;
  /** The tensor as PyTorch prints it. */
  toString(): string;
  /** The same text for a tensor on a device that can only be read asynchronously. */
  toStringAsync(): Promise<string>;
  /** Dtype, shape and values, or their summary where there are many; safe in JSON. */
  toJSON(): TensorSummary;
  /** Views of the entries of the first dimension; each is the caller's to dispose. */
  [Symbol.iterator](): Iterator<Tensor<D>>;
}
