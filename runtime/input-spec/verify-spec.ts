import { ArgumentError } from '../errors/errors.ts';
import { dtypes } from '../spec/dtype.ts';
import { type Dim, type InputSpec, OptionalSpec, openDim, TensorSpec } from './spec.ts';

/** Throws ArgumentError for a specification that is invalid or that no argument can satisfy. */
export function verifySpecs(specs: readonly InputSpec[]): void {
  if (!Array.isArray(specs)) throw wrong('inputSpec', 'no array', 'one specification per argument');
  specs.forEach((spec, i) => {
    verify(spec, `inputSpec[${i}]`);
  });
}

function verify(spec: InputSpec, path: string): void {
  if (spec === null) return;
  if (spec instanceof OptionalSpec) {
    verify(spec.spec, path);
  } else if (spec instanceof TensorSpec) {
    verifyTensor(spec, path);
  } else if (typeof spec === 'object') {
    const isArray = Array.isArray(spec);
    for (const [key, item] of Object.entries(spec)) {
      verify(item as InputSpec, isArray ? `${path}[${key}]` : `${path}.${key}`);
    }
  } else {
    throw wrong(
      path,
      `a ${typeof spec}, ${String(spec)}`,
      'tensorSpec(shape), optionalSpec(...), null for anything, or arrays and objects of these',
    );
  }
}

function verifyTensor({ shape = [], dtype }: TensorSpec, path: string): void {
  if (dtype !== undefined && !Object.hasOwn(dtypes, dtype)) {
    throw wrong(path, `dtype ${String(dtype)}`, `one of ${Object.keys(dtypes).join(', ')}`);
  }
  shape.forEach((dim, i) => {
    if (!isDim(dim)) {
      throw wrong(
        `${path}, dimension ${i}`,
        typeof dim === 'object' ? JSON.stringify(dim) : String(dim),
        'a whole number, null, a name, or { name, min, max } with 0 <= min <= max',
      );
    }
  });
}

function isDim(dim: Dim): boolean {
  const isSize = (size: number) => Number.isSafeInteger(size) && size >= 0;
  if (typeof dim === 'number') return isSize(dim);
  if (dim !== null && typeof dim !== 'string' && typeof dim !== 'object') return false;
  const { min, max } = openDim(dim)!;
  return isSize(min) && (isSize(max) || max === Number.POSITIVE_INFINITY) && min <= max;
}

function wrong(path: string, given: string, expected: string): ArgumentError {
  return new ArgumentError({
    what: `toStatic: ${path} is not a specification`,
    given,
    expected,
    remedy: "write a tensor's as tensorSpec(['batch', 784], 'float32')",
  });
}
