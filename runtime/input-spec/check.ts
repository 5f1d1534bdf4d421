import { formatSpec } from '../device/tensor-meta.ts';
import { ArgumentError } from '../errors/errors.ts';
import { Tensor } from '../tensor/tensor.ts';
import { checkTensor, type FoundSizes, printTensorSpec } from './check-tensor.ts';
import { type InputSpec, OptionalSpec, TensorSpec } from './spec.ts';

/**
 * Checks the arguments of a call against their specification. Throws ArgumentError, DTypeError, DeviceError or
 * ShapeError naming the argument's path, what was expected and what was given. Arguments beyond the specified ones
 * may be anything.
 */
export function checkInputs(specs: readonly InputSpec[], args: readonly unknown[]): void {
  const names: FoundSizes = new Map();
  for (let i = 0; i < specs.length; i++) check(specs[i]!, args[i], `argument ${i}`, names);
}

function check(spec: InputSpec, value: unknown, path: string, names: FoundSizes): void {
  if (spec === null) return;
  if (spec instanceof OptionalSpec) {
    if (value !== undefined && value !== null) check(spec.spec, value, path, names);
  } else if (spec instanceof TensorSpec) {
    const named = spec.name ? `${path} (${spec.name})` : path;
    if (!(value instanceof Tensor)) throw noTensor(spec, value, named);
    checkTensor(spec, value, named, names);
  } else if (Array.isArray(spec)) {
    checkArray(spec as readonly InputSpec[], value, path, names);
  } else {
    checkObject(spec as Readonly<Record<string, InputSpec>>, value, path, names);
  }
}

function checkArray(
  items: readonly InputSpec[],
  value: unknown,
  path: string,
  names: FoundSizes,
): void {
  if (!Array.isArray(value) || value.length !== items.length) {
    throw misfit(path, kindOf(value), `an array of ${items.length}`);
  }
  for (let i = 0; i < items.length; i++) check(items[i]!, value[i], `${path}[${i}]`, names);
}

/** Requires exactly the specified properties; optional ones may be missing. */
function checkObject(
  spec: Readonly<Record<string, InputSpec>>,
  value: unknown,
  path: string,
  names: FoundSizes,
): void {
  const keys = Object.keys(spec);
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject || value instanceof Tensor || value instanceof Map || value instanceof Set) {
    throw misfit(path, kindOf(value), printKeys(keys));
  }
  const extra = Object.keys(value).filter((key) => !Object.hasOwn(spec, key));
  if (extra.length > 0) {
    throw misfit(
      path,
      `an object that also has ${extra.join(', ')}`,
      printKeys(keys),
      'leave it out, or name it in the specification: null lets anything pass',
    );
  }
  const missing = keys.filter((key) => !(spec[key] instanceof OptionalSpec) && !(key in value));
  if (missing.length > 0) {
    throw misfit(
      path,
      `an object without ${missing.join(', ')}`,
      printKeys(keys),
      'pass a matching value, or allow it to be missing with optionalSpec()',
    );
  }
  for (const key of keys) check(spec[key]!, Reflect.get(value, key), `${path}.${key}`, names);
}

function printKeys(keys: readonly string[]): string {
  return keys.length === 0 ? 'an object without properties' : `an object with ${keys.join(', ')}`;
}

function noTensor(spec: TensorSpec, value: unknown, path: string): ArgumentError {
  const isMissing = value === undefined || value === null;
  const remedy = isMissing
    ? 'pass a tensor, or allow it to be missing with optionalSpec()'
    : 'wrap arrays and numbers in tensor([...])';
  return misfit(path, kindOf(value), printTensorSpec(spec), remedy);
}

function misfit(
  path: string,
  given: string,
  expected: string,
  remedy = 'pass a matching value, or change the specification',
): ArgumentError {
  return new ArgumentError({
    what: `${path} doesn't match its inputSpec`,
    given,
    expected,
    remedy,
  });
}

function kindOf(value: unknown): string {
  if (value instanceof Tensor) return `a ${formatSpec(value)} tensor`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (value instanceof Map) return `a Map of ${value.size}`;
  if (value instanceof Set) return `a Set of ${value.size}`;
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'object') return `an object with ${Object.keys(value).join(', ')}`;
  return typeof value === 'function' ? 'a function' : `a ${typeof value}, ${String(value)}`;
}
