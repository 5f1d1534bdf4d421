import type { ScalarTable } from '../../runtime/ops/numbers/symbolic-number.ts';
import { attrReader } from '../../runtime/save/attr-reader.ts';
import type { Field } from '../../runtime/save/file/field.ts';
import { PlainReads } from '../guards/plain-reads.ts';
import type { Reader, Source } from '../guards/source.ts';
import type { SourceText } from '../vm/bytecode/code.ts';
import type { Closure, Frame, PrivateAccess, Scope } from '../vm/bytecode/frame.ts';
import { isObject } from '../vm/language/primordials.ts';
import { brandOf } from './brand.ts';
import type { CacheContext } from './cache-context.ts';
import { printCode, printOwn } from './code-print.ts';
import { languageScope } from './language-scope.ts';
import { closureFor, type RequestedCode } from './requested-code.ts';
import { anyValue, sourceItem } from './source-codec.ts';

/** Thrown if this process differs from the one that stored the trace: the entry is for other calls. */
export class ProcessMismatch extends Error {}

/** The objects of this process that a stored entry refers to. */
export class LiveReader {
  /** The numbers of the program being read, once they are known. */
  scalars: ScalarTable | undefined;
  /** Reads attributes with these numbers. */
  attrs = attrReader(null);
  readonly frames: readonly Frame[];
  readonly #surroundings: CacheContext;
  readonly #texts: readonly Field[];
  readonly #sourceItems: readonly Field[];
  readonly #objectItems: readonly Field[];
  readonly #sources: (Source | null)[] = [];
  readonly #objects: (object | null)[] = [];
  readonly #reads = new PlainReads();
  readonly #files = new Set<SourceText>();

  constructor(surroundings: CacheContext, lists: Field) {
    this.frames = surroundings.frames;
    this.#surroundings = surroundings;
    this.#texts = lists.get('texts').items();
    this.#sourceItems = lists.get('sources').items();
    this.#objectItems = lists.get('objects').items();
    for (const { closure } of surroundings.frames) this.#files.add(closure.code.source);
  }

  /** The files of all functions that the entry refers to. */
  get files(): readonly SourceText[] {
    return [...this.#files];
  }

  source(field: Field): Source {
    const id = field.int(0, this.#sourceItems.length - 1);
    return this.#once(this.#sources, id, field, () =>
      sourceItem.read(this.#sourceItems[id]!, this),
    );
  }

  text(field: Field): string {
    return this.#texts[field.int(0, this.#texts.length - 1)]!.string();
  }

  object(field: Field): object {
    const id = field.int(0, this.#objectItems.length - 1);
    return this.#once(this.#objects, id, field, () => this.#find(this.#objectItems[id]!));
  }

  scope(field: Field): Scope {
    const how = field.items()[0];
    return how?.value === 'language' ? languageScope : this.closure(field).scope;
  }

  access(field: Field, name: string): PrivateAccess {
    const access = this.scope(field).privateName?.(name);
    return access ?? unfit('no such private name');
  }

  closure(field: Field): Closure {
    const [how, of] = field.tuple(2);
    const request = how.oneOf(['frame', 'call', 'new']);
    if (request === 'frame') return this.frames[of.int(0, this.frames.length - 1)]!.closure;
    return this.#closureOf(this.object(of), request);
  }

  /** Verifies that the objects read are at their locations. Throws ProcessMismatch. */
  expectFacts(facts: Field): void {
    const places = new Map<object, number>();
    for (const item of facts.get('objects').items()) {
      const [source, object, isFixed] = item.tuple(3);
      const found = this.object(object);
      if (this.#read(source) !== found) unfit('another object');
      this.#expectFixed(source, isFixed.boolean());
      const id = object.int(0, this.#objectItems.length - 1);
      if ((places.get(found) ?? id) !== id) unfit('one object in the place of two');
      places.set(found, id);
    }
    for (const item of facts.get('constants').items()) {
      const [source, value] = item.tuple(2);
      if (!Object.is(this.#read(source), anyValue.read(value, this))) unfit('another constant');
      this.#expectFixed(source, true);
    }
    this.#reads.forget();
  }

  /** A variable that was never assigned in the other process has no guard. */
  #expectFixed(field: Field, isFixed: boolean): void {
    const source = this.source(field);
    const { kind } = source;
    if (isFixed && !(kind === 'free' && source.scope.isConstant(source.name))) {
      unfit('a variable that may be assigned');
    }
  }

  #read(source: Field): unknown {
    return readWith(this.#reads.reader(this.source(source)), this.frames);
  }

  #find(item: Field): object {
    if (item.has('known')) return this.#known(item);
    const found = this.#at(item);
    if (
      !isObject(found) ||
      brandOf(found, this.#surroundings.known) !== item.get('brand').string()
    ) {
      return unfit('an object of another kind');
    }
    if (typeof found === 'function') {
      const [how, print] = item.get('code').tuple(2);
      const { code } = this.#closureOf(found, how.oneOf(['call', 'new', 'alone']));
      if (printCode(code, found, this.#surroundings.digest) !== this.text(print))
        unfit('other code');
    }
    return found;
  }

  /** Verifies that no user function has replaced a function of this package. */
  #known(item: Field): object {
    const found = this.#surroundings.known.get(item.get('known').string());
    if (!found) return unfit('no object of that name');
    if (!item.has('text')) return found;
    const print = printOwn(found, this.#surroundings.digest);
    return print === this.text(item.get('text')) ? found : unfit('another function of that name');
  }

  #at(item: Field): unknown {
    if (item.has('at')) return this.#read(item.get('at'));
    if (item.has('variable')) {
      const [scope, name] = item.get('variable').tuple(2);
      return this.scope(scope).place?.(name.string(), true)?.object;
    }
    if (item.has('thisOf')) return this.closure(item.get('thisOf')).lexicalThis?.value;
    if (item.has('prototype')) {
      const type = this.object(item.get('prototype'));
      return Object.getOwnPropertyDescriptor(type, 'prototype')?.value;
    }
    const [below, levels] = item.get('above').tuple(2);
    let found: object | null = this.object(below);
    for (let i = levels.int(1, 1000); i > 0 && found; i--) {
      found = Object.getPrototypeOf(found) as object | null;
    }
    return found;
  }

  #closureOf(fn: object, how: RequestedCode['how']): Closure {
    if (typeof fn !== 'function') return unfit('no function');
    const closure = closureFor(this.#surroundings.codeOf, { fn, how });
    if (!closure) return unfit('a function without code');
    this.#files.add(closure.code.source);
    return closure;
  }

  /** Creates each object once. No valid file has a description that refers to itself. */
  #once<T>(known: (T | null)[], id: number, field: Field, make: () => T): T {
    const found = known[id];
    if (found === null) field.fail('a description that does not refer to itself');
    if (found !== undefined) return found;
    known[id] = null;
    const object = make();
    known[id] = object;
    return object;
  }
}

export function unfit(why: string): never {
  throw new ProcessMismatch(why);
}

/** A location that can't be read has no value. */
function readWith(read: Reader, frames: readonly Frame[]): unknown {
  try {
    return read(frames);
  } catch {
    return unfit('a place that is not there');
  }
}
