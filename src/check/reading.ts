import type { TypedArray } from '../../runtime/spec/dtype.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';

/**
 * Work that reads tensors: it yields the tensors to read, and continues with their elements in row-major order. The
 * same comparison can thus run synchronously where a device can be read synchronously, and asynchronously on a GPU.
 */
export type Reading<T> = Generator<readonly (Tensor | null)[], T, readonly (TypedArray | null)[]>;

/** Runs the work now. Throws DeviceError if the device can't be read synchronously. */
export function readNow<T>(work: Reading<T>): T {
  let step = work.next();
  while (!step.done) {
    step = work.next(
      step.value.map((tensor) => tensor?.device.downloadSync(tensor, tensor) ?? null),
    );
  }
  return step.value;
}

/** Runs the work asynchronously; `around` wraps each step. */
export async function readLater<T>(work: Reading<T>, around: <R>(step: () => R) => R): Promise<T> {
  let step = around(() => work.next());
  while (!step.done) {
    const { value } = step;
    const all = around(() =>
      value.map((tensor) => tensor?.device.download(tensor, tensor) ?? null),
    );
    const elements = await Promise.all(all);
    step = around(() => work.next(elements));
  }
  return step.value;
}
