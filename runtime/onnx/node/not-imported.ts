import { ArgumentError } from '../../errors/errors.ts';

/** Returns the error for an unsupported operator or setting. */
export function missing(given: string): ArgumentError {
  return new ArgumentError({
    what: 'importOnnx: the model needs what is not imported',
    given,
    expected: 'the operators that docs/export.md lists',
    remedy: 'export the model without it, or run it with onnxruntime',
  });
}
