import { formatSpec, type TensorSpec } from '../device/tensor-meta.ts';
import { DisposedError } from '../errors/errors.ts';

/** Returns the error for a tensor without data; `use` names the operation that was about to read it. */
export function disposedError(tensor: TensorSpec, use: string): DisposedError {
  return new DisposedError({
    what: `${use}: the tensor has been disposed`,
    given: `a disposed ${formatSpec(tensor)} tensor`,
    expected: 'a tensor that has not been disposed',
    remedy:
      'call dispose() or leave tidy() after the last use, or return the tensor from tidy() to keep it',
  });
}
