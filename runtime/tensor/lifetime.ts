import { asyncGiven, expectFunction } from '../options/expect-arguments.ts';
import { wrongValue } from '../options/expect-options.ts';
import type { Tensor } from './tensor.ts';

/** Handles in creation order. Each handle stores its index, so removal takes constant time. */
export class HandleList {
  #handles: (Tensor | null)[] = [];
  #left = 0;

  /** The number of slots, including those of removed handles. */
  get length(): number {
    return this.#handles.length;
  }

  add(tensor: Tensor): void {
    if (this.#left > 64 && this.#left * 2 > this.#handles.length) this.#close();
    tensor.trackIn(this, this.#handles.length);
    this.#handles.push(tensor);
  }

  remove(tensor: Tensor): void {
    this.#handles[tensor.place] = null;
    this.#left++;
    tensor.trackIn(null, 0);
  }

  /** Empties the list, then calls `body` with each of its handles. */
  drain(body: (tensor: Tensor) => void): void {
    const handles = this.#handles;
    this.#handles = [];
    this.#left = 0;
    for (const tensor of handles) {
      if (!tensor) continue;
      tensor.trackIn(null, 0);
      body(tensor);
    }
  }

  /** Compacts the list. */
  #close(): void {
    let to = 0;
    for (const tensor of this.#handles) {
      if (!tensor) continue;
      tensor.trackIn(this, to);
      this.#handles[to++] = tensor;
    }
    this.#handles.length = to;
    this.#left = 0;
  }
}

/** Tensors created inside the innermost `tidy`; null outside any `tidy`. */
let created: HandleList | null = null;

/**
 * Tensors created outside any `tidy` in this event loop iteration. Most are disposed before it ends, so they are
 * registered with the garbage collector only then: registration is the most expensive part of creating a tensor. Until
 * then no warning names a forgotten tensor.
 */
const recent = new HandleList();
/** The number of slots in `recent` at which all its handles are registered with the garbage collector. */
const mostRecent = 4096;
let leavingIsDue = false;

function leaveRecent(): void {
  leavingIsDue = false;
  recent.drain(leaveToCollector);
}

const leaveToCollector = (tensor: Tensor): void => tensor.leaveToCollector();

function addRecent(tensor: Tensor): void {
  recent.add(tensor);
  if (recent.length >= mostRecent) recent.drain(leaveToCollector);
  if (leavingIsDue) return;
  leavingIsDue = true;
  queueMicrotask(leaveRecent);
}

/** Called once for each tensor that owns memory. */
export function track(tensor: Tensor): void {
  if (created) created.add(tensor);
  else addRecent(tensor);
}

/** Whether the end of the innermost `tidy` will dispose the tensor. */
export function isTracked(tensor: Tensor): boolean {
  return created !== null && tensor.list === created;
}

/** Lets a tensor outlive the `tidy` it was created in (parameters, gradients, optimizer state). */
export function keep<T extends Tensor>(tensor: T): T {
  if (!isTensor(Object(tensor) as object)) throw wrongValue('keep', 'tensor', tensor, 'a tensor');
  if (created !== null && tensor.list === created) {
    created.remove(tensor);
    addRecent(tensor);
    if (tensor.grad) keep(tensor.grad);
  }
  return tensor;
}

/** Ties a gradient's lifetime to its tensor: `tidy` disposes both or keeps both. */
export function liveWith(tensor: Tensor, gradient: Tensor): Tensor {
  gradient.list?.remove(gradient);
  if (tensor.list && tensor.list !== recent) tensor.list.add(gradient);
  else addRecent(gradient);
  return gradient;
}

/** The innermost `tidy`, for `inTidy`; null outside any. */
export const innermostTidy = (): HandleList | null => created;

/** Runs `body` as if it were called in `surrounding`: its tensors live until that `tidy` ends. */
export function inTidy<T>(surrounding: HandleList | null, body: () => T): T {
  const outer = created;
  created = surrounding;
  try {
    return body();
  } finally {
    created = outer;
  }
}

/** Runs `body` outside any `tidy`: tensors created in it belong to no surrounding scope. */
export const outsideTidy = <T>(body: () => T): T => inTidy(null, body);

/**
 * Runs `body` and disposes every tensor created in it, except those in its result (also nested in arrays and plain
 * objects) and those passed to `keep`, both with their gradients. If `body` throws, all are disposed. `body` must not
 * be async: its tensors would be disposed before it continues.
 */
export function tidy<T>(body: () => T): T {
  expectFunction('tidy', body);
  const outer = created;
  const handles = new HandleList();
  created = handles;
  let result: T;
  try {
    result = refuseAsync(body());
  } catch (error) {
    handles.drain(dispose);
    throw error;
  } finally {
    created = outer;
  }
  if (handles.length > 0) {
    release(result, handles, outer);
    handles.drain(dispose);
  }
  return result;
}

/** Moves the tensors of a result that were created in this `tidy` to the surrounding one. */
function release(result: unknown, inner: HandleList, outer: HandleList | null): void {
  if (typeof result !== 'object' || result === null) return;
  for (const tensor of isTensor(result) ? [result] : tensorsIn(result)) {
    handOver(tensor, inner, outer);
    if (tensor.grad) handOver(tensor.grad, inner, outer);
  }
}

function handOver(tensor: Tensor, inner: HandleList, outer: HandleList | null): void {
  if (tensor.list !== inner) return;
  inner.remove(tensor);
  if (outer) outer.add(tensor);
  else addRecent(tensor);
}

const dispose = (tensor: Tensor): void => tensor.dispose();

function refuseAsync<T>(result: T): T {
  if (!(result instanceof Promise)) return result;
  throw asyncGiven('tidy');
}

/** Whether the object is a tensor, judged by its members (duck typing). */
export function isTensor(value: object): value is Tensor {
  return 'holderFor' in value;
}

/** Returns the tensors in a value: the value itself, or tensors nested in arrays and plain objects. */
export function tensorsIn(value: unknown): Tensor[] {
  const found: Tensor[] = [];
  if (typeof value === 'object' && value !== null) collectTensors(value, found, new Set());
  return found;
}

function collectTensors(value: object, found: Tensor[], seen: Set<object>): void {
  if (seen.has(value)) return;
  seen.add(value);
  if (isTensor(value)) {
    found.push(value);
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === Object.prototype || prototype === null;
  if (!isPlain && !Array.isArray(value)) return;
  for (const item of Object.values(value) as readonly unknown[]) {
    // Skips numbers, the usual items after data was read.
    if (typeof item === 'object' && item !== null) collectTensors(item, found, seen);
  }
}
