import type { BackwardOptions } from '../backward/backward.ts';
import type { HookHandle } from '../backward/hooks.ts';
import type { Device } from '../device/device.ts';
import type { DType, TypedArrayOf } from '../spec/dtype.ts';
import type { GradHook } from '../tensor/grad-node.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { Nested, TensorSummary } from './nested.ts';
import type { TransferTarget } from './transfer.ts';

/** The methods that tensors have in every entry point of the package. */
export interface BaseMethods<D extends DType> {
  /** Adds the gradient of this tensor to the `.grad` of each leaf it was computed from. */
  backward(gradient?: Tensor | null, options?: BackwardOptions): void;
  backward(options: BackwardOptions): void;
  /** Like `backward`, but awaits the transfer of gradients from a GPU to leaves on another device. */
  backwardAsync(gradient?: Tensor | null, options?: BackwardOptions): Promise<void>;
  backwardAsync(options: BackwardOptions): Promise<void>;
  /** Registers a hook that receives, and may replace, the gradient of this tensor in every backward that reaches it. */
  registerHook(hook: GradHook): HookHandle;
  /** Makes backward fill `.grad` of this result, too; the gradient is disposed with the result. */
  retainGrad(): void;
  /** Returns a copy with its own memory. */
  clone(): Tensor<D>;
  /** Converts to another dtype or device; returns the tensor itself if nothing changes. */
  to<T extends DType>(dtype: T): Tensor<T>;
  to(device: Device | (string & {})): Tensor<D>;
  to(target: TransferTarget): Tensor;
  /** Like `to`, but works from a device that can only be read asynchronously, such as a GPU. */
  toAsync<T extends DType>(dtype: T): Promise<Tensor<T>>;
  toAsync(device: Device | (string & {})): Promise<Tensor<D>>;
  toAsync(target: TransferTarget): Promise<Tensor>;
  /** Resolves to the elements in row-major order. On a GPU, all previously issued work completes first. */
  data(): Promise<TypedArrayOf<D>>;
  /** The synchronous form of `data`; throws DeviceError if the device can only be read asynchronously. */
  dataSync(): TypedArrayOf<D>;
  /** Resolves to the only element, as a number (0 or 1 for bool). */
  item(): Promise<number>;
  itemSync(): number;
  /** Resolves to the values as one number or nested arrays; booleans for bool. */
  toArray(): Promise<Nested<D>>;
  toArraySync(): Nested<D>;
  /** PyTorch's name for `toArraySync`. */
  tolist(): Nested<D>;
  /** Whether the other tensor has the same shape and values. Reads both synchronously. */
  equal(other: Tensor): boolean;
  /** Returns the tensor as PyTorch prints it. */
  toString(): string;
  /** Resolves to the same text; also works on a device that can only be read asynchronously. */
  toStringAsync(): Promise<string>;
  /** Returns dtype, shape and values (a summary if there are many), safe to serialize as JSON. */
  toJSON(): TensorSummary;
  /** Yields views of the entries of the first dimension; the caller disposes each. */
  [Symbol.iterator](): Iterator<Tensor<D>>;
}
