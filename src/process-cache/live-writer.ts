import { rulesOf } from '../../runtime/backward/custom-function.ts';
import { getOrInsert } from '../../runtime/collections/get-or-insert.ts';
import type { ScalarTable } from '../../runtime/ops/numbers/symbolic-number.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { standardGlobals } from '../1-capture/script/standard-globals.ts';
import { isFrameworkFile } from '../3-trace/state/framework-files.ts';
import { isModuleNamespace } from '../guards/plain.ts';
import { compileReader, type Source } from '../guards/source.ts';
import { rootOf, sourceKey } from '../guards/source-key.ts';
import type { Code } from '../vm/bytecode/code.ts';
import type { Closure, PrivateAccess, Scope } from '../vm/bytecode/frame.ts';
import { isObject } from '../vm/language/primordials.ts';
import { brandOf } from './brand.ts';
import type { CacheContext } from './cache-context.ts';
import { printCode, printOwn } from './code-print.ts';
import { notStorable } from './codec.ts';
import { type CodeRequest, closureFor, type RequestedCode } from './requested-code.ts';
import { anyValue, sourceItem } from './source-codec.ts';

/** The surroundings of a trace to be written. */
interface Traced extends CacheContext {
  /** All locations that it read. */
  readonly places: readonly Source[];
  /** The functions whose code it requested. */
  readonly requested: readonly RequestedCode[];
}

interface Read {
  readonly source: Source;
  readonly value: unknown;
}

/**
 * The objects of this process that a trace refers to, described so that another process can find them: by a name known
 * to every process, or by a location that the trace read. Each is described once, after the objects that its
 * description refers to.
 */
export class LiveWriter {
  /** The numbers of the program being written. */
  scalars: ScalarTable | undefined;
  readonly #traced: Traced;
  readonly #closures: readonly Closure[];
  readonly #reads: readonly Read[];
  readonly #requested = new Map<unknown, RequestedCode>();
  readonly #owners = new Map<Scope, readonly [how: string, of?: unknown]>();
  readonly #placeOf = new WeakMap<object, Source>();
  /** Functions of this package without a known name that were read through others. */
  readonly #own = new Set<unknown>();
  /** Locations whose content follows from the code of this package. */
  readonly #ownPlaces = new Set<string>();
  readonly #sources: unknown[] = [];
  readonly #sourceIds = new Map<string, number>();
  readonly #objects: unknown[] = [];
  readonly #objectIds = new WeakMap<object, number>();
  readonly #texts: string[] = [];
  readonly #textIds = new Map<string, number>();

  /** Reads the locations again: nothing has changed since the trace. */
  constructor(traced: Traced) {
    this.#traced = traced;
    const { frames, places, requested } = traced;
    this.#closures = frames.map(({ closure }) => closure);
    this.#reads = places.flatMap((source) =>
      isReadByRun(source) ? [] : [{ source, value: compileReader(source)(frames) }],
    );
    for (const { source, value } of this.#reads) {
      const isFound = isObject(value) && rootOf(source).kind !== 'held';
      if (isFound && !this.#placeOf.has(value)) this.#placeOf.set(value, source);
    }
    for (const { source, value } of this.#reads) {
      if (isObject(value) && source.kind !== 'held' && !this.#placeOf.has(value)) {
        this.#placeOf.set(value, source);
      }
    }
    this.#closures.forEach(({ scope }, frame) => {
      this.#owners.set(scope, ['frame', frame]);
    });
    for (const each of requested) {
      const { fn, how, closure } = each;
      if (!this.#requested.has(fn)) this.#requested.set(fn, each);
      if (this.#owners.has(closure.scope)) continue;
      this.#owners.set(closure.scope, how === 'alone' ? ['language'] : [how, fn]);
    }
    this.#findOwnPlaces();
  }

  /**
   * Finds the constants and functions in scopes of this package's functions: they are the same in every process with
   * this version. A function is read before its scope's variables.
   */
  #findOwnPlaces(): void {
    const own = this.#own;
    for (const { source, value } of this.#reads) {
      let isOwn = false;
      if (source.kind === 'free') {
        const [, fn] = this.#owners.get(source.scope) ?? [];
        const isSame = typeof value === 'function' || source.scope.isConstant(source.name);
        isOwn = isSame && this.#isOfPackage(fn);
      } else if (source.kind === 'property') isOwn = own.has(source.base);
      if (!isOwn) continue;
      this.#ownPlaces.add(sourceKey(source));
      // Modules compiled for a test share their functions as properties.
      if (isObject(value)) own.add(isModuleNamespace(value) ? source : value);
    }
  }

  /** A function that replaced a function of this package is the user's. */
  #isOfPackage(fn: unknown): boolean {
    if (this.#own.has(fn)) return true;
    const file = this.#requested.get(fn)?.closure.code.source.file;
    return (file === undefined || isFrameworkFile(file)) && this.#traced.known.isOfPackage(fn);
  }

  source(source: Source): number {
    const key = sourceKey(source);
    let id = this.#sourceIds.get(key);
    if (id === undefined) {
      const item = sourceItem.write(source, this);
      id = this.#sources.push(item) - 1;
      this.#sourceIds.set(key, id);
    }
    return id;
  }

  /** The index of a text that occurs often. */
  text(text: string): number {
    return getOrInsert(this.#textIds, text, () => this.#texts.push(text) - 1);
  }

  /** `name`: the variable's name, if the object is a variable's location. */
  object(object: object, name?: string): number {
    let id = this.#objectIds.get(object);
    if (id === undefined) {
      id = this.#objects.push(null) - 1;
      this.#objectIds.set(object, id);
      this.#objects[id] = this.#describe(object, name);
    } else if (this.#objects[id] === null) return notStorable('it refers to objects in a cycle');
    return id;
  }

  /** The scope of a function whose code the trace requested. */
  scope(scope: Scope, name?: string): unknown {
    const owner = this.#owners.get(scope);
    if (!owner) return notStorable('it reads a variable around a function that is not known');
    const [how, of] = owner;
    // This package doesn't shadow globals of the language.
    const isGlobal = name !== undefined && standardGlobals.has(name);
    if (isGlobal && this.#isOfPackage(of)) return ['language', name];
    return typeof of === 'function' ? [how, this.object(of)] : owner;
  }

  access(access: PrivateAccess, name: string): unknown {
    for (const scope of this.#owners.keys()) {
      if (hasAccess(scope, name, access)) return this.scope(scope);
    }
    return notStorable('it reads a private field of a class that is not known');
  }

  /** A function with this code and scope. */
  closure({ code, scope }: Pick<Closure, 'code' | 'scope'>): unknown {
    return this.#ownerOf((each) => each.code === code && each.scope === scope);
  }

  /** A function with this code. */
  code(code: Code): unknown {
    return this.#ownerOf((each) => each.code === code);
  }

  #ownerOf(isIt: (closure: Closure) => boolean): unknown {
    const frame = this.#closures.findIndex(isIt);
    if (frame >= 0) return ['frame', frame];
    const { requested } = this.#traced;
    const found = requested.find(({ how, closure }) => how !== 'alone' && isIt(closure));
    if (!found) return notStorable('it refers to a function that captured code has made');
    return [found.how, this.object(found.fn)];
  }

  /** The contents of the locations that were read. */
  facts(): Readonly<Record<string, unknown>> {
    const objects: unknown[] = [];
    const constants: unknown[] = [];
    for (const { source, value } of this.#reads) {
      if (source.kind === 'held' || value instanceof Tensor) continue;
      if (this.#ownPlaces.has(sourceKey(source))) continue;
      const isFixed = source.kind === 'free' && source.scope.isConstant(source.name);
      if (isObject(value)) objects.push([this.source(source), this.object(value), isFixed]);
      else if (isFixed) {
        constants.push([this.source(source), anyValue.write(value, this)]);
      }
    }
    return { objects, constants };
  }

  /** The lists that indices refer to. */
  lists(): Readonly<Record<string, readonly unknown[]>> {
    return { texts: this.#texts, sources: this.#sources, objects: this.#objects };
  }

  #describe(object: object, name: string | undefined): unknown {
    const known = this.#traced.known.nameOf(object);
    const isOfPackage = this.#isOfPackage(object);
    if (known !== undefined && isOfPackage && typeof object === 'function') {
      const { digest } = this.#traced;
      return { known, text: this.text(printOwn(object, digest)) };
    }
    if (known !== undefined && (isOfPackage || !this.#requested.has(object))) return { known };
    const brand = brandOf(object, this.#traced.known);
    if (brand === undefined) return notStorable('it reads a Proxy');
    const place = this.#placeOf.get(object);
    const found = place ? { at: this.source(place) } : this.#derived(object, name);
    if (typeof object !== 'function') return { ...found, brand };
    return { ...found, brand, code: this.#codeOf(object as RequestedCode['fn']) };
  }

  /** The code of a function that a trace may have inlined, and how it was requested. */
  #codeOf(fn: RequestedCode['fn']): unknown {
    if (rulesOf(fn as never))
      return notStorable('it calls a function with gradient rules of its own');
    const { codeOf, digest } = this.#traced;
    const requested = this.#requested.get(fn)?.how;
    for (const how of requested ? [requested] : (['call', 'new'] as const)) {
      const closure = closureFor(codeOf, { fn, how });
      if (closure)
        return [how satisfies CodeRequest, this.text(printCode(closure.code, fn, digest))];
    }
    return notStorable(
      `it reads the function ${fn.name || 'without a name'}, whose code is not known`,
    );
  }

  *#followed(): Iterable<Closure> {
    yield* this.#closures;
    for (const { closure } of this.#traced.requested) yield closure;
  }

  /** Describes an object at no known location by an object that it belongs to. */
  #derived(object: object, name: string | undefined): object {
    for (const scope of this.#owners.keys()) {
      const isPlace = name !== undefined && scope.place?.(name, false)?.object === object;
      if (isPlace) return { variable: [this.scope(scope), name] };
    }
    for (const closure of this.#followed()) {
      if (closure.lexicalThis?.value === object) return { thisOf: this.closure(closure) };
    }
    for (const { source, value } of this.#reads) {
      if (!isObject(value) || rootOf(source).kind === 'held') continue;
      const prototype = Object.getOwnPropertyDescriptor(value, 'prototype')?.value as unknown;
      if (typeof value === 'function' && prototype === object)
        return { prototype: this.object(value) };
      const levels = levelsAbove(value, object);
      if (levels > 0) return { above: [this.object(value), levels] };
    }
    return notStorable(
      object instanceof Tensor ? 'it holds a tensor' : 'it holds an object that no path leads to',
    );
  }
}

/** A number that differs in each run. */
function isReadByRun(source: Source): boolean {
  return source.kind === 'called' || source.kind === 'random';
}

function hasAccess({ privateName }: Scope, name: string, access: PrivateAccess): boolean {
  try {
    return privateName?.(name) === access;
  } catch {
    // The function's class has no such name.
    return false;
  }
}

/** Returns how far above `object` the other one is in the prototype chain; 0 if it isn't there. */
function levelsAbove(object: object, other: object): number {
  let levels = 0;
  for (
    let each: object | null = object;
    each;
    each = Object.getPrototypeOf(each) as object | null
  ) {
    if (each === other) return levels;
    levels++;
  }
  return 0;
}
