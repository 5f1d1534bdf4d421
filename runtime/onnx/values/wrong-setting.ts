import { ArgumentError } from '../../errors/errors.ts';

/** Returns the error for an invalid setting of an operator, such as an axis beyond the rank. */
export function wrongSetting(given: string, expected: string): ArgumentError {
  return new ArgumentError({
    what: 'importOnnx: a setting of the model fits neither its operator nor the shapes',
    given,
    expected,
    remedy: 'check the model with onnx.checker, and the shapes of its inputs',
  });
}
