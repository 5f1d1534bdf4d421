/** Parts of a trace as JSON, written and read by one description each. */

import { Field } from '../../runtime/save/file/field.ts';
import { encodePrimitive, type Primitive, readPrimitive } from '../../runtime/save/primitive.ts';
import type { LiveReader } from './live-reader.ts';
import type { LiveWriter } from './live-writer.ts';

/** Writes a value to a file and reads it back. Reading throws DataError for data that wasn't written this way. */
export interface Codec<T> {
  write(value: T, live: LiveWriter): unknown;
  read(field: Field, live: LiveReader): T;
}

/** Thrown by `write` for something that a file can't contain; the trace is then not stored. */
export class NotStorable extends Error {}

export function notStorable(why: string): never {
  throw new NotStorable(why);
}

/** A kind that no file can contain. */
export function never(why: string): Codec<never> {
  return { write: () => notStorable(why), read: (field) => field.fail('a kind that files hold') };
}

/** Writes the value unchanged. */
function plain<T>(read: (field: Field) => T): Codec<T> {
  return { write: (value) => value, read };
}

export const boolean = plain((field) => field.boolean());
export const string = plain((field) => field.string());
export const integer = (most = Number.MAX_SAFE_INTEGER): Codec<number> =>
  plain((field) => field.int(0, most));

export const oneOf = <T extends string>(...names: readonly T[]): Codec<T> =>
  plain((field) => field.oneOf(names));

export const primitive: Codec<Primitive> = { write: encodePrimitive, read: readPrimitive };

export const number: Codec<number> = {
  write: encodePrimitive,
  read(field) {
    const value = readPrimitive(field);
    return typeof value === 'number' ? value : field.fail('a number');
  },
};

export function list<T>(item: Codec<T>): Codec<readonly T[]> {
  return {
    write: (values, live) => values.map((value) => item.write(value, live)),
    read: (field, live) => field.items().map((each) => item.read(each, live)),
  };
}

export function pair<A, B>(first: Codec<A>, second: Codec<B>): Codec<readonly [A, B]> {
  return {
    write: ([a, b], live) => [first.write(a, live), second.write(b, live)],
    read(field, live) {
      const [a, b] = field.tuple(2);
      return [first.read(a, live), second.read(b, live)];
    },
  };
}

export function nullable<T>(of: Codec<T>): Codec<T | null> {
  return {
    write: (value, live) => (value === null ? null : of.write(value, live)),
    read: (field, live) => (field.isNull ? null : of.read(field, live)),
  };
}

/** Writes undefined as null. */
export function optional<T>(of: Codec<T>): Codec<T | undefined> {
  return {
    write: (value, live) => (value === undefined ? null : of.write(value, live)),
    read: (field, live) => (isNothing(field) ? undefined : of.read(field, live)),
  };
}

/** Distinguishes null from undefined. */
export function optionalOrNull<T>(of: Codec<T>): Codec<T | null | undefined> {
  return {
    write: (value, live) =>
      value === null ? 0 : value === undefined ? null : of.write(value, live),
    read: (field, live) =>
      field.value === 0 ? null : isNothing(field) ? undefined : of.read(field, live),
  };
}

const isNothing = (field: Field): boolean => field.isMissing || field.isNull;

/** Allows only this value. */
export function always<T>(value: T, why: string): Codec<T> {
  return {
    write: (candidate) => (candidate === value ? null : notStorable(why)),
    read: () => value,
  };
}

/** Integers from 0 on. */
export function integers<T extends number>(most = Number.MAX_SAFE_INTEGER): Codec<readonly T[]> {
  const isOne = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
  return {
    write: (value) => value,
    read(field) {
      const { value } = field;
      const isList = Array.isArray(value) && value.length <= most && value.every(isOne);
      return isList ? (value as T[]) : field.fail('whole numbers');
    },
  };
}

type Fields<T> = { readonly [K in keyof T]-?: Codec<T[K]> };

/** An object with these properties, as a list of their values. */
export function record<T extends object>(fields: Fields<T>): Codec<T> {
  const keys = Object.keys(fields) as (keyof T & string)[];
  const codecs = Object.values(fields) as Codec<unknown>[];
  return {
    write(value, live) {
      const written = codecs.map((codec, i) => codec.write(value[keys[i]!], live));
      while (written.length > 0 && written.at(-1) === null) written.pop();
      return written;
    },
    read(field, live) {
      const items = field.items(codecs.length);
      const object: Partial<Record<string, unknown>> = {};
      for (let i = 0; i < codecs.length; i++) {
        const value = codecs[i]!.read(items[i] ?? new Field(null, field.path), live);
        if (value !== undefined) object[keys[i]!] = value;
      }
      return object as T;
    },
  };
}

type Kinded = { readonly kind: string };
type Rest<T> = { readonly [K in Exclude<keyof T, 'kind'>]: T[K] };

/** A codec for each kind of a union: a new kind fails to compile until it has one. */
type Variants<T extends Kinded> = {
  readonly [K in T['kind']]: Codec<Rest<Extract<T, { readonly kind: K }>>> | Codec<never>;
};

export function variants<T extends Kinded>(codecs: () => Variants<T>): Codec<T> {
  let known: ReadonlyMap<string, Codec<object>> | undefined;
  const codecOf = (kind: string): Codec<object> | undefined => {
    known ??= new Map(Object.entries(codecs() as Record<string, Codec<object>>));
    return known.get(kind);
  };
  return {
    write: (value, live) => [value.kind, codecOf(value.kind)!.write(value, live)],
    read(field, live) {
      const [kind, rest] = field.tuple(2);
      const codec = codecOf(kind.string()) ?? kind.fail('a kind that files hold');
      return { kind: kind.value, ...codec.read(rest, live) } as unknown as T;
    },
  };
}
