/** Options common to all functions that create tensors from other values. */

import { deviceGuard } from '../../device/current.ts';
import type { Device } from '../../device/device.ts';
import { ArgumentError, DTypeError } from '../../errors/errors.ts';
import { canBeOptions, notAnObject, shown, unknownOption } from '../../options/expect-options.ts';
import { type DType, dtypes } from '../../spec/dtype.ts';
import { requireGrad } from '../../tensor/require-grad.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { expectDTypeName } from '../record/operand-dtypes.ts';
import { intercepted } from './bind.ts';

export interface CreateOptions<D extends DType = DType> {
  /** The default depends on the function. */
  readonly dtype?: D | undefined;
  /** A device or its name; defaults to the current device, or to the reference tensor's. */
  readonly device?: Device | string | undefined;
  /** Creates a leaf whose gradient `backward()` computes; only for floating-point tensors. */
  readonly requiresGrad?: boolean | undefined;
}

const common: readonly string[] = ['dtype', 'device', 'requiresGrad'];

interface Creation {
  /** The function's name in user code. */
  readonly op: string;
  readonly options: CreateOptions;
  /** The default dtype; null if the data determines it. */
  readonly dtype: DType | null;
  /** The default device; the current device if omitted. */
  readonly device?: Device;
  /** Options of the function besides the common ones. */
  readonly names?: readonly string[];
}

/**
 * Returns the tensor that `make` creates, with the requested options applied. `make` receives the dtype (null if the
 * data determines it) and runs under the device. All options are checked first, so that an error doesn't consume random
 * numbers. Throws ArgumentError for an unknown option, DTypeError for an unknown dtype or an integer dtype with
 * `requiresGrad`, DeviceError for an unknown device.
 */
export function created<T extends DType | null>(
  creation: Creation & { readonly dtype: T },
  make: (dtype: T extends null ? DType | null : DType) => Tensor,
): Tensor {
  const { op, options, names } = creation;
  expectOptions(op, options, names ? [...common, ...names] : common);
  const dtype = (options.dtype ?? creation.dtype) as T extends null ? DType | null : DType;
  const requiresGrad = options.requiresGrad ?? false;
  if (dtype !== null) expectDType(op, dtype, requiresGrad);
  const device = options.device ?? creation.device;
  const tensor = device ? deviceGuard(device, () => make(dtype)) : make(dtype);
  if (!requiresGrad) return tensor;
  if (dtype === null) expectDType(op, tensor.dtype, requiresGrad);
  return intercepted() ? toBeLeaf(tensor) : requireGrad(tensor);
}

/** Tensors of programs under construction that were created with `requiresGrad: true`. */
const leavesToBegin = new WeakSet<Tensor>();

/** Marks a tensor that the tracer must turn into a leaf. */
export function toBeLeaf(tensor: Tensor): Tensor {
  leavesToBegin.add(tensor);
  return tensor;
}

/** Whether the tracer must turn this tensor into a leaf: in a program, a leaf is a separate value. */
export const beginsLeaf = (tensor: Tensor): boolean => leavesToBegin.has(tensor);

/** Checks that the options are an object without unknown names, and that `requiresGrad` is a boolean. */
export function expectOptions(op: string, options: CreateOptions, names: readonly string[]): void {
  if (!canBeOptions(options as unknown)) {
    throw notAnObject(op, options, names, remedyFor(op, options, names));
  }
  const keys = Object.keys(options);
  for (let i = 0; i < keys.length; i++) {
    if (!names.includes(keys[i]!)) throw unknownOption(op, keys[i]!, names);
  }
  const { requiresGrad } = options;
  if (requiresGrad === undefined || typeof requiresGrad === 'boolean') return;
  throw new ArgumentError({
    what: `${op}: requiresGrad is not a boolean`,
    given: String(requiresGrad),
    expected: 'true or false',
    remedy: 'pass true for a leaf with a gradient',
  });
}

/** Returns the hint: a size or shape passed as options, or else a dtype passed by position. */
function remedyFor(op: string, value: unknown, names: readonly string[]): string {
  if (typeof value === 'number') return `pass the sizes in one array: ${op}([2, 3])`;
  if (Array.isArray(value) && names.includes('shape')) return `name it: { shape: ${shown(value)} }`;
  return "name the option: { dtype: 'float64' }";
}

function expectDType(op: string, dtype: DType, requiresGrad: boolean): void {
  expectDTypeName(op, dtype);
  if (!requiresGrad || dtypes[dtype].floating) return;
  throw new DTypeError({
    what: `${op}: only floating-point tensors can require gradients`,
    given: `requiresGrad: true for ${dtype}`,
    expected: 'float32, float64, float16 or bfloat16',
    remedy: "name such a dtype: { dtype: 'float32', requiresGrad: true }",
  });
}
