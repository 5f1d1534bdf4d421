import { statePlaces } from '../../runtime/nn/module/state-places.ts';
import { sameShape } from '../../runtime/spec/shape.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { lookupGetter } from './inherited-property.ts';
import { isPlainArray, isPlainObject, isProxy } from './plain.ts';

/** How deep elements may be nested. */
const maxDepth = 4;

/**
 * Describes the tensors of a plain array, or of the plain objects and arrays in it, as text: dtype, shape, strides,
 * device and `requiresGrad` of each, in order. Runs of equal tensors are counted, so the text of a cache is short.
 * Undefined if an element is missing or contains anything but tensors with memory, or if reading it would run a getter.
 */
export function listLayout(array: object): string | undefined {
  const { length } = array as readonly unknown[];
  let text = '';
  let alike: unknown;
  let spelledAlike = '';
  let count = 0;
  for (let i = 0; i < length; i++) {
    if (lookupGetter.call(array, i) !== undefined) return undefined;
    const element = (array as readonly unknown[])[i];
    if (isAlike(alike, element)) {
      count++;
      continue;
    }
    const spelling = spelled(element, maxDepth);
    if (spelling === undefined) return undefined;
    if (spelling === spelledAlike) {
      count++;
    } else {
      if (count > 0) text += `${count} × ${spelledAlike}; `;
      [spelledAlike, count] = [spelling, 1];
    }
    alike = element;
  }
  return count > 0 ? `${text}${count} × ${spelledAlike}; ` : text;
}

/** Returns the tensors at a path in the elements; undefined if an element has none there. */
export function tensorsAt(
  array: readonly unknown[],
  path: readonly string[],
): readonly Tensor[] | undefined {
  const found: Tensor[] = [];
  for (let part of array) {
    for (const key of path) part = (part as Record<string, unknown>)[key];
    if (!(part instanceof Tensor)) return undefined;
    found.push(part);
  }
  return found;
}

/** Returns the keys in each element, as text; undefined if they differ between elements. */
export function keysInElements(array: readonly unknown[]): string | undefined {
  const [first, ...others] = array.map(keysIn);
  return others.every((keys) => keys === first) ? first : undefined;
}

function keysIn(element: unknown): string {
  const parts = plainParts(element);
  const keys = parts?.map(([key, part]) => [key, keysIn(part)]);
  return JSON.stringify([Array.isArray(element), keys]);
}

/**
 * Returns the properties of a plain object or array, none of which is an accessor; undefined for other values.
 */
export function plainParts(value: unknown): readonly (readonly [string, unknown])[] | undefined {
  if (typeof value !== 'object' || value === null || isProxy(value)) return undefined;
  const isArray = Array.isArray(value);
  const isPlain = isArray ? isPlainArray(value) : isPlainObject(value);
  if (!isPlain || (!isArray && Object.getPrototypeOf(value) === null)) return undefined;
  const names = Object.getOwnPropertyNames(value);
  if (isArray && names.length !== value.length + 1) return undefined;
  const parts: (readonly [string, unknown])[] = [];
  for (const name of names) {
    if (isArray && name === 'length') continue;
    const descriptor = Object.getOwnPropertyDescriptor(value, name)!;
    if (!Object.hasOwn(descriptor, 'value') || !descriptor.enumerable) return undefined;
    parts.push([name, descriptor.value]);
  }
  return parts;
}

/** Returns whether no tensor of the array has an own property of this name, or is of a user's class. */
export function hasBareTensors(array: object, key: PropertyKey | undefined): boolean {
  const isBare = (value: unknown): boolean => {
    if (!(value instanceof Tensor))
      return plainParts(value)?.every((part) => isBare(part[1])) ?? true;
    return Object.getPrototypeOf(value) === Tensor.prototype && !Object.hasOwn(value, key!);
  };
  return listLayout(array) !== undefined && (array as readonly unknown[]).every(isBare);
}

/** Returns what `statePlaces` finds, as text; undefined if that would run a getter or a Proxy's handler. */
export function statePlacesIn(array: object): string | undefined {
  const elements = array as readonly unknown[];
  for (let i = 0; i < elements.length; i++) {
    if (lookupGetter.call(elements, i) !== undefined || leadsToProxy(elements[i])) return undefined;
  }
  return statePlaces(elements).join();
}

function leadsToProxy(value: unknown): boolean {
  for (let holder = value; typeof holder === 'object' && holder !== null; ) {
    if (isProxy(holder)) return true;
    holder = Object.getPrototypeOf(holder) as unknown;
  }
  return false;
}

function isAlike(a: unknown, b: unknown): boolean {
  return (
    a instanceof Tensor &&
    b instanceof Tensor &&
    b.holder !== null &&
    a.dtype === b.dtype &&
    a.requiresGrad === b.requiresGrad &&
    a.device === b.device &&
    sameShape(a.shape, b.shape) &&
    sameShape(a.strides, b.strides)
  );
}

function spelled(value: unknown, depth: number): string | undefined {
  if (value instanceof Tensor) return value.holder === null ? undefined : spelledTensor(value);
  const parts = depth > 0 ? plainParts(value) : undefined;
  if (!parts || parts.length === 0) return undefined;
  let text = '';
  for (const [key, part] of parts) {
    const inside = spelled(part, depth - 1);
    if (inside === undefined) return undefined;
    text += `${JSON.stringify(key)}: ${inside}, `;
  }
  return Array.isArray(value) ? `[${text}]` : `{${text}}`;
}

function spelledTensor(tensor: Tensor): string {
  const { dtype, shape, strides, device, isContiguous, requiresGrad } = tensor;
  const layout = isContiguous ? '' : ` strides ${strides}`;
  return `${dtype}[${shape}]${layout}${requiresGrad ? ' with gradients' : ''} on ${device.name}`;
}
