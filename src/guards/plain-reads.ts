import { getOrInsert } from '../../runtime/collections/get-or-insert.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import { isParameterCell } from '../vm/language/arguments-object.ts';
import { fastKey } from '../vm/language/index-key.ts';
import { lookupGetter } from './inherited-property.ts';
import { accessorOf, isModuleNamespace, isProxy } from './plain.ts';
import { compileRead, type Reader, type Source } from './source.ts';
import { sourceKey } from './source-key.ts';
import { isTensorGetter } from './tensor-getters.ts';

const unread: unique symbol = Symbol('unread');

/** Thrown where reading would run user code: a miss, like any read that throws. */
const notPlain = new Error('a getter or a Proxy stands where a trace has read a value');

interface Place {
  readonly read: Reader;
  /** Whether a guard inspects the object there: if it were a Proxy, its handler would run. */
  isHolder: boolean;
}

/**
 * The reads of one entry's guards. A location is read once per pass for all guards that need it, and never through a
 * getter or Proxy that appeared after the trace: its effects belong to the call, not to the lookup of an entry.
 */
export class PlainReads {
  readonly #places = new Map<string, Place>();
  readonly #values: unknown[] = [];

  /** `isHolder`: the guard inspects the object itself. */
  reader(source: Source, isHolder = false): Reader {
    const key = sourceKey(source);
    const place = getOrInsert(this.#places, key, () => this.#placeOf(source));
    if (isHolder) place.isHolder = true;
    return place.read;
  }

  get isEmpty(): boolean {
    return this.#values.length === 0;
  }

  /** Called after a pass, so that no objects are kept alive. */
  forget(): void {
    const values = this.#values;
    for (let i = 0; i < values.length; i++) values[i] = unread;
  }

  #placeOf(source: Source): Place {
    const values = this.#values;
    const index = values.push(unread) - 1;
    const read =
      source.kind === 'property' && !isReadThrough(source)
        ? compilePlainRead(this.reader(source.base, true), source.key)
        : compileRead(source, (base) => this.reader(base, true));
    const place: Place = {
      isHolder: false,
      read: (frames) => {
        const known = values[index];
        if (known !== unread) return known;
        const value = read(frames);
        if (place.isHolder && isProxy(value)) throw notPlain;
        values[index] = value;
        return value;
      },
    };
    return place;
  }
}

/** Compiles a reader for a single location, with the same precautions. */
export function compilePlainReader(source: Source): Reader {
  const reads = new PlainReads();
  const read = reads.reader(source);
  return (frames: readonly Frame[]) => {
    try {
      return read(frames);
    } finally {
      reads.forget();
    }
  };
}

/** Returns a function that reads locations in one call; undefined behind a getter or a Proxy, so no user code runs. */
export function readerOfCall(frames: readonly Frame[]): (source: Source) => unknown {
  const reads = new PlainReads();
  return (source) => {
    try {
      return reads.reader(source, true)(frames);
    } catch {
      return undefined;
    }
  };
}

function compilePlainRead(base: Reader, name: string | symbol): Reader {
  const key = fastKey(name);
  return (frames) => {
    const object = base(frames) as Record<PropertyKey, unknown>;
    const getter = lookupGetter.call(object, key);
    if (getter !== undefined && !isHarmless(object, getter)) throw notPlain;
    return object[key];
  };
}

/** Getters of this package, of built-in containers and of module namespaces run no user code. */
export function isHarmless(object: object, getter: unknown): boolean {
  if (object instanceof Tensor) return isTensorGetter(getter);
  if (object instanceof Map || object instanceof Set) return true;
  if (isParameterCell(object)) return true;
  return ArrayBuffer.isView(object) || isModuleNamespace(object);
}

/** Locations that the tracer creates to represent a variable or a private field as a property. */
export function isReadThrough({ base, key }: Source & { kind: 'property' }): boolean {
  if (base.kind === 'private') return base.slot;
  return base.kind === 'held' && accessorOf(base.value, key) !== undefined;
}
