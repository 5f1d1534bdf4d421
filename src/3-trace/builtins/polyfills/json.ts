/** `JSON.stringify` and `JSON.parse` of other values than primitives, written after the specification. */

type Replacer = (this: unknown, key: string, value: unknown) => unknown;

export function stringify(
  value: unknown,
  replacer?: Replacer | readonly unknown[] | null,
  space?: unknown,
): string | undefined {
  const call = typeof replacer === 'function' ? replacer : undefined;
  let names: string[] | undefined;
  if (Array.isArray(replacer)) {
    names = [];
    for (let i = 0; i < replacer.length; i++) {
      const item: unknown = replacer[i];
      if (typeof item !== 'string' && typeof item !== 'number') continue;
      if (!names.includes(String(item))) names[names.length] = String(item);
    }
  }
  let gap = '';
  if (typeof space === 'number') gap = ' '.repeat(Math.max(0, Math.min(10, Math.trunc(space))));
  else if (typeof space === 'string') gap = space.slice(0, 10);

  const list = (open: string, close: string, parts: string[], indent: string): string => {
    if (parts.length === 0) return open + close;
    if (gap === '') return open + parts.join(',') + close;
    const inner = indent + gap;
    return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indent}${close}`;
  };

  const serialize = (
    holder: unknown,
    key: string,
    value: unknown,
    indent: string,
  ): string | undefined => {
    let item = value;
    const isObject = (typeof item === 'object' && item !== null) || typeof item === 'function';
    if (isObject || typeof item === 'bigint') {
      const toJSON = (item as unknown as { readonly toJSON?: unknown }).toJSON;
      if (typeof toJSON === 'function') item = (toJSON as Replacer).call(item, key, undefined);
    }
    if (call !== undefined) item = call.call(holder, key, item);
    if (typeof item === 'number') return Number.isFinite(item) ? String(item) : 'null';
    if (item === null || typeof item === 'boolean') return String(item);
    if (typeof item === 'string') return JSON.stringify(item);
    if (typeof item === 'bigint') throw new TypeError('Do not know how to serialize a BigInt');
    if (typeof item !== 'object') return undefined;
    const parts: string[] = [];
    const inner = indent + gap;
    if (Array.isArray(item)) {
      const { length } = item;
      for (let i = 0; i < length; i++) {
        parts[i] = serialize(item, String(i), item[i], inner) ?? 'null';
      }
      return list('[', ']', parts, indent);
    }
    const keys = names ?? Object.keys(item);
    // By index, as the language does: user code may have replaced the array iterator.
    for (let i = 0; i < keys.length; i++) {
      const name = keys[i]!;
      const text = serialize(item, name, (item as Record<string, unknown>)[name], inner);
      if (text === undefined) continue;
      parts[parts.length] = `${JSON.stringify(name)}:${gap === '' ? '' : ' '}${text}`;
    }
    return list('{', '}', parts, indent);
  };

  return serialize({ '': value }, '', value, '');
}

/** `JSON.parse(text, reviver)` */
export function parse(text: string, reviver: Replacer): unknown {
  const revive = (holder: Record<string, unknown>, key: string): unknown => {
    const value = holder[key];
    if (typeof value === 'object' && value !== null) {
      const object = value as Record<string, unknown>;
      const keys = Object.keys(object);
      for (let i = 0; i < keys.length; i++) {
        const inner = keys[i]!;
        const next = revive(object, inner);
        if (next === undefined) delete object[inner];
        else object[inner] = next;
      }
    }
    return reviver.call(holder, key, value);
  };
  return revive({ '': JSON.parse(text) }, '');
}
