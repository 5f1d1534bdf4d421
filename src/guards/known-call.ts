import type { Frame } from '../vm/bytecode/frame.ts';
import { isProxy } from './plain.ts';
import { PlainReads } from './plain-reads.ts';
import type { Source } from './source.ts';

/** Reads the objects of one call, without running user code. */
export class KnownCall {
  readonly #frames: readonly Frame[];
  readonly #reads = new PlainReads();

  constructor(frames: readonly Frame[]) {
    this.#frames = frames;
  }

  /** The value at a location; undefined behind a getter or a Proxy. */
  at(source: Source): unknown {
    try {
      return this.#reads.reader(source, true)(this.#frames);
    } catch {
      return undefined;
    }
  }

  /** The prototype of the object at a location, if the object has no own property `key`. */
  prototypeBehind(source: Source, key: PropertyKey): object | null {
    const object = this.at(source);
    if (typeof object !== 'object' || !object || Object.hasOwn(object, key)) return null;
    const prototype = Object.getPrototypeOf(object) as object | null;
    return prototype && !isProxy(prototype) ? prototype : null;
  }
}
