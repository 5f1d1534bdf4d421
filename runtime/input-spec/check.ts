import { ArgumentError, DTypeError, ShapeError } from '../errors/errors.ts';
import { formatSpec } from '../tensor/meta.ts';
import { Tensor } from '../tensor/tensor.ts';
import { type Dim, type InputSpec, printDims, TensorSpec } from './spec.ts';

/** A size that a name stands for in this call, and where it was found. */
interface Bound {
  readonly size: number;
  readonly path: string;
}

/**
 * Holds the arguments of a call against their specification. Throws ArgumentError, DTypeError or ShapeError
 * naming the argument by its path, what was expected and what was given.
 */
export function checkInputs(specs: readonly InputSpec[], args: readonly unknown[]): void {
  const names = new Map<string, Bound>();
  specs.forEach((spec, index) => {
    check(spec, args[index], `argument ${index}`, names);
  });
}

function check(spec: InputSpec, value: unknown, path: string, names: Map<string, Bound>): void {
  if (spec === null) return;
  if (spec instanceof TensorSpec) {
    checkTensor(spec, value, spec.name ? `${path} (${spec.name})` : path, names);
    return;
  }
  if (Array.isArray(spec)) {
    const items = spec as readonly InputSpec[];
    if (!Array.isArray(value) || value.length !== items.length) {
      throw new ArgumentError({
        what: `${path} is not what its inputSpec says`,
        given: Array.isArray(value) ? `an array of ${value.length}` : kindOf(value),
        expected: `an array of ${items.length}`,
        remedy: 'pass what the specification says, or change the specification',
      });
    }
    items.forEach((item, i) => {
      check(item, value[i], `${path}[${i}]`, names);
    });
    return;
  }
  if (typeof value !== 'object' || value === null) {
    throw new ArgumentError({
      what: `${path} is not what its inputSpec says`,
      given: kindOf(value),
      expected: `an object with ${Object.keys(spec).join(', ')}`,
      remedy: 'pass what the specification says, or change the specification',
    });
  }
  for (const [key, item] of Object.entries(spec)) {
    check(item, Reflect.get(value, key), `${path}.${key}`, names);
  }
}

function checkTensor(
  { shape, dtype }: TensorSpec,
  value: unknown,
  path: string,
  names: Map<string, Bound>,
): void {
  const expected = `${dtype ?? 'any dtype'} ${shape ? printDims(shape) : 'of any shape'}`;
  if (!(value instanceof Tensor)) {
    throw new ArgumentError({
      what: `${path} is not what its inputSpec says`,
      given: kindOf(value),
      expected: `a tensor, ${expected}`,
      remedy: 'wrap arrays in tensor([...])',
    });
  }
  const facts = (given: string) => ({
    what: `${path} is not what its inputSpec says`,
    given,
    expected,
    remedy: 'pass what the specification says, or change the specification',
  });
  if (dtype && value.dtype !== dtype) throw new DTypeError(facts(formatSpec(value)));
  if (!shape) return;
  if (shape.length !== value.rank) {
    throw new ShapeError(facts(`${formatSpec(value)} with ${value.rank} dimensions`));
  }
  shape.forEach((dim, i) => {
    const wrong = misfit(dim, value.shape[i]!, `${path}, dimension ${i}`, names);
    if (wrong) throw new ShapeError(facts(`${formatSpec(value)}, whose dimension ${i} ${wrong}`));
  });
}

/** What is wrong with a size; undefined when it fits. */
function misfit(
  dim: Dim,
  size: number,
  path: string,
  names: Map<string, Bound>,
): string | undefined {
  if (dim === null) return undefined;
  if (typeof dim === 'number') return dim === size ? undefined : `is ${size} and not ${dim}`;
  const {
    name,
    min = 0,
    max = Number.POSITIVE_INFINITY,
  } = typeof dim === 'string' ? { name: dim } : dim;
  if (size < min || size > max) return `is ${size}, outside ${min} to ${max}`;
  if (name === undefined) return undefined;
  const bound = names.get(name);
  if (!bound) {
    names.set(name, { size, path });
    return undefined;
  }
  return bound.size === size
    ? undefined
    : `is ${size}, but '${name}' is ${bound.size} in ${bound.path}`;
}

function kindOf(value: unknown): string {
  if (value instanceof Tensor) return `a ${formatSpec(value)} tensor`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  return value === null ? 'null' : typeof value;
}
