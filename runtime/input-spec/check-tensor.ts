import { formatSpec } from '../device/tensor-meta.ts';
import { DeviceError, DTypeError, type ErrorFacts, ShapeError } from '../errors/errors.ts';
import { plural } from '../errors/plural.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { type Dim, openDim, printDims, type TensorSpec } from './spec.ts';

/** The size that a name has in this call, and where it was found. */
interface FoundSize {
  readonly size: number;
  readonly path: string;
}

/** The sizes of names so far. */
export type FoundSizes = Map<string, FoundSize>;

/** Formats the specified parts of a spec, such as `a float32 tensor [batch, 784] on cpu`. */
export function printTensorSpec({ shape, dtype, device }: TensorSpec): string {
  const dims = shape ? printDims(shape) : 'of any shape';
  return `a tensor, ${dtype ?? 'any dtype'} ${dims}${device ? ` on ${device}` : ''}`;
}

/** Throws DTypeError, DeviceError or ShapeError if the tensor doesn't match `spec`. */
export function checkTensor(
  spec: TensorSpec,
  tensor: Tensor,
  path: string,
  names: FoundSizes,
): void {
  const { shape, dtype, device } = spec;
  const facts = (more: string): ErrorFacts => ({
    what: `${path} doesn't match its inputSpec`,
    given: `a ${formatSpec(tensor)} tensor${more}`,
    expected: printTensorSpec(spec),
    remedy: 'pass a matching value, or change the specification',
  });
  if (dtype && tensor.dtype !== dtype) throw new DTypeError(facts(''));
  if (device && tensor.device.name !== device) {
    throw new DeviceError(facts(` on ${tensor.device.name}`));
  }
  if (!shape) return;
  if (shape.length !== tensor.rank) {
    throw new ShapeError(facts(` with ${plural(tensor.rank, 'dimension')}`));
  }
  for (let i = 0; i < shape.length; i++) {
    const wrong = misfit(shape[i]!, tensor.shape[i]!, path, i, names);
    if (wrong) throw new ShapeError(facts(`, whose dimension ${i} ${wrong}`));
  }
}

/** Describes how a size violates the specification; undefined if it fits. */
function misfit(
  dim: Dim,
  size: number,
  path: string,
  index: number,
  names: FoundSizes,
): string | undefined {
  const open = openDim(dim);
  if (!open) return dim === size ? undefined : `is ${size} and not ${String(dim)}`;
  const { name, min, max } = open;
  if (size < min || size > max) return `is ${size}, outside ${min} to ${max}`;
  if (name === undefined) return undefined;
  const found = names.get(name);
  if (!found) {
    names.set(name, { size, path: `${path}, dimension ${index}` });
    return undefined;
  }
  if (found.size === size) return undefined;
  return `is ${size}, but '${name}' is ${found.size} in ${found.path}`;
}
