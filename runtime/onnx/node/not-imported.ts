import { ArgumentError } from '../../errors/errors.ts';

/** For an operator, or a setting of one, that is not imported. */
export function missing(given: string): ArgumentError {
  return new ArgumentError({
    what: 'importOnnx: the model needs what is not imported',
    given,
    expected: 'the operators that docs/export.md lists',
    remedy: 'export the model without it, or run it with onnxruntime',
  });
}
