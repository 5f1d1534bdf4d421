import { createHash } from 'node:crypto';
import { Tensor } from '../../../runtime/tensor/tensor.ts';

/** The visible state of some values, by path: `arguments[0].grad` → `f32[2,3] …`. */
export type Observed = Readonly<Record<string, string>>;

/** The most locations inspected. */
const mostPlaces = 20_000;

/** Walks over everything reachable from the values: tensors with gradients, collections, fields of objects. */
export function observe(roots: Readonly<Record<string, unknown>>): Observed {
  const observer = new Observer();
  for (const [name, value] of Object.entries(roots)) observer.visit(name, value);
  return observer.places;
}

/** Full-graph mode appends source lines to a message, which eager execution doesn't have. */
const messageOf = ({ message }: Error): string => message.replace(/(?:\n {4} *\d+ \| .*)+$/, '');

class Observer {
  readonly places: Record<string, string> = {};
  /** For each object, the path on which it was first found: identity is compared, too. */
  readonly #met = new Map<object, string>();
  #count = 0;

  visit(path: string, value: unknown): void {
    if (++this.#count > mostPlaces) return;
    if (typeof value === 'function') {
      this.places[path] = `function ${value.name}`;
      return;
    }
    if (typeof value !== 'object' || value === null) {
      this.places[path] = Object.is(value, -0) ? 'number -0' : `${typeof value} ${String(value)}`;
      return;
    }
    const before = this.#met.get(value);
    if (before !== undefined) {
      this.places[path] = `the same as ${before}`;
      return;
    }
    this.#met.set(value, path);
    if (value instanceof Tensor) this.#visitTensor(path, value);
    else this.#visitObject(path, value);
  }

  #visitTensor(path: string, tensor: Tensor): void {
    const { dtype, shape, strides, requiresGrad } = tensor;
    const layout = `${dtype}[${shape.join()}] strides [${strides.join()}] requiresGrad ${requiresGrad}`;
    if (tensor.disposed) {
      this.places[path] = `${layout}, disposed`;
      return;
    }
    const data = tensor.device.downloadSync(tensor, tensor);
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
    const shown = Array.from(data.subarray(0, 4), String).join(', ');
    this.places[path] = `${layout}: ${shown}${data.length > 4 ? ', …' : ''} (${hash})`;
    if (tensor.grad) this.visit(`${path}.grad`, tensor.grad);
  }

  #visitObject(path: string, value: object): void {
    const name: unknown = value.constructor?.name;
    this.places[path] = `${typeof name === 'string' ? name : 'object'}`;
    if (value instanceof Error) this.places[path] += ` ${value.name}: ${messageOf(value)}`;
    if (value instanceof Map) {
      [...value].forEach(([key, element], i) => {
        this.visit(`${path}.key(${i})`, key);
        this.visit(`${path}.value(${i})`, element);
      });
    } else if (value instanceof Set) {
      [...value].forEach((element, i) => {
        this.visit(`${path}.element(${i})`, element);
      });
    } else if (ArrayBuffer.isView(value)) {
      this.places[path] += ` ${String(value)}`;
    }
    for (const key of Reflect.ownKeys(value)) {
      const property = Object.getOwnPropertyDescriptor(value, key)!;
      // Getters are user code: inspection must not run it.
      if (!('value' in property) || ArrayBuffer.isView(value)) continue;
      // The message is compared above, and the stack depends on how the function ran.
      if (value instanceof Error && (key === 'stack' || key === 'message')) continue;
      const text = typeof key === 'symbol' ? `[${String(key)}]` : `.${key}`;
      this.visit(Array.isArray(value) ? `${path}[${String(key)}]` : path + text, property.value);
    }
  }
}
