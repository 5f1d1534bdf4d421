/**
 * Built-in types whose instances' whole state a trace can know. Uses the built-in functions as of loading this file:
 * reading the state runs no user code, and throws for an object of another type.
 */

interface HostType<T extends object = object> {
  /** A key that is equal for instances that differ only in identity. */
  readonly state: (value: T) => string | number;
  readonly copy: (value: T) => T;
  /** Copies the state of `from` to `to`. */
  readonly assign: (to: T, from: T) => void;
}

type Getter = () => string;
const getterOf = (prototype: object, key: string): Getter =>
  Object.getOwnPropertyDescriptor(prototype, key)!.get as Getter;

const { getTime, setTime } = Date.prototype;
const timeOf = (date: Date): number => Reflect.apply(getTime, date, []);

const date: HostType<Date> = {
  state: timeOf,
  copy: (value) => new Date(timeOf(value)),
  assign: (to, from) => void Reflect.apply(setTime, to, [timeOf(from)]),
};

const [Address, Query] = [URL, URLSearchParams];
const readHref = getterOf(URL.prototype, 'href');
const writeHref = Object.getOwnPropertyDescriptor(URL.prototype, 'href')!.set as (
  to: string,
) => void;
const hrefOf = (value: URL): string => Reflect.apply(readHref, value, []);

const url: HostType<URL> = {
  state: hrefOf,
  copy: (value) => new Address(hrefOf(value)),
  assign: (to, from) => void Reflect.apply(writeHref, to, [hrefOf(from)]),
};

const { toString: printQuery, append, delete: remove, keys } = URLSearchParams.prototype;
const queryOf = (value: URLSearchParams): string => Reflect.apply(printQuery, value, []);

const query: HostType<URLSearchParams> = {
  state: queryOf,
  copy: (value) => new Query(queryOf(value)),
  assign: (to, from) => {
    for (const key of [...(Reflect.apply(keys, to, []) as Iterable<string>)]) {
      Reflect.apply(remove, to, [key]);
    }
    for (const [key, value] of new Query(queryOf(from))) Reflect.apply(append, to, [key, value]);
  },
};

const { slice } = ArrayBuffer.prototype;

/** Only for buffers created by the trace: pre-existing ones may have too many views to be guarded. */
const arrayBuffer: HostType<ArrayBuffer> = {
  state: () => {
    throw new TypeError('memory is not guarded');
  },
  copy: (value) => Reflect.apply(slice, value, [0]),
  assign: (to, from) => new Uint8Array(to).set(new Uint8Array(from)),
};

const hostTypes = {
  ArrayBuffer: arrayBuffer,
  Date: date,
  URL: url,
  URLSearchParams: query,
} as const;

export type HostTypeName = keyof typeof hostTypes;

export const hostType = (name: HostTypeName): HostType => hostTypes[name] as unknown as HostType;

/** The type of the object, determined without its prototype chain. */
export function hostTypeOf(object: object): HostTypeName | undefined {
  for (const name of Object.keys(hostTypes) as HostTypeName[]) {
    try {
      hostType(name).state(object);
      return name;
    } catch {
      // The object has another type.
    }
  }
  return undefined;
}

/** Methods of Date without arguments that return numbers or text. */
const dateMethods = new Map(
  Object.getOwnPropertyNames(Date.prototype)
    .filter((name) => /^(get|to|valueOf)/.test(name) && name !== 'toJSON')
    .map((name) => [name, Date.prototype[name as 'getTime']] as const),
);

export const dateMethodNames: readonly string[] = [...dateMethods.keys()];

/** Throws RangeError for the ISO text of an invalid date. */
export function readDate(object: object, key?: PropertyKey): string | number {
  return Reflect.apply(dateMethods.get(key as string)!, object, []);
}
