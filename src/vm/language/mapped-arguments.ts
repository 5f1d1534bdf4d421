import type { Cell } from '../bytecode/frame.ts';
import {
  apply,
  create,
  defineProperty,
  deleteProperty,
  descriptor,
  get,
  getOwnPropertyDescriptor,
} from './primordials.ts';

const ProxyConstructor = Proxy;
const iterate = Array.prototype[Symbol.iterator];

/**
 * Returns the `arguments` object of sloppy mode if only the interpreter may run: an exotic object (ECMAScript
 * 10.4.4), as a Proxy, whose elements alias the parameters. `count`: the number of parameters.
 */
export function mappedArguments(
  args: readonly unknown[],
  count: number,
): { readonly object: object; readonly cells: readonly Cell[] } {
  const mapped: Record<PropertyKey, Cell> = create(null);
  const cells: Cell[] = [];
  const target = {};
  const define = (key: PropertyKey, value: unknown, enumerable: boolean): void => {
    const fields = { value, writable: true, enumerable, configurable: true };
    defineProperty(target, key, descriptor(fields));
  };
  for (let i = 0; i < args.length; i++) define(String(i), args[i], true);
  define('length', args.length, false);
  define(Symbol.iterator, iterate, false);
  // The built-in tag; the engine's own objects have it without a property.
  define(Symbol.toStringTag, 'Arguments', false);
  for (let i = 0; i < count; i++) {
    const cell = { value: args[i] };
    defineProperty(cells, i, descriptor({ value: cell, writable: true, enumerable: true }));
    if (i < args.length) mapped[String(i)] = cell;
  }
  const object = new ProxyConstructor(target, handlerOf(mapped));
  return { object, cells };
}

/** The target stores attributes and unmapped properties; a mapped element has the value of its cell. */
const handlerOf = (mapped: Record<PropertyKey, Cell>): ProxyHandler<object> => ({
  // Without a prototype, so that no inherited property acts as a trap.
  ...(create(null) as object),
  get(target, key, receiver) {
    const cell = mapped[key];
    return cell ? cell.value : get(target, key, receiver);
  },
  getOwnPropertyDescriptor(target, key) {
    const cell = mapped[key];
    if (cell) defineProperty(target, key, descriptor({ value: cell.value }));
    return getOwnPropertyDescriptor(target, key);
  },
  defineProperty(target, key, fields) {
    const cell = mapped[key];
    // An element that becomes constant keeps the current value of its variable.
    if (cell && !('value' in fields))
      defineProperty(target, key, descriptor({ value: cell.value }));
    if (!apply(reflectDefine, undefined, [target, key, fields])) return false;
    if (!cell) return true;
    if ('get' in fields || 'set' in fields) delete mapped[key];
    else {
      if ('value' in fields) cell.value = fields.value;
      if (fields.writable === false) delete mapped[key];
    }
    return true;
  },
  deleteProperty(target, key) {
    const isGone = deleteProperty(target, key);
    if (isGone) delete mapped[key];
    return isGone;
  },
});

const reflectDefine = Reflect.defineProperty;
