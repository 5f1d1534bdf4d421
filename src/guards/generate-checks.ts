/**
 * Generates one function for the guards of an entry that is found often: each location is a variable, and each property
 * is read by name, which inline caches make fast. Makes the same reads and comparisons as `check-guard.ts`, with the
 * same precautions against getters and Proxies.
 */

import { gradEnabled } from '../../runtime/autograd/grad-mode.ts';
import { contiguousStrides } from '../../runtime/spec/shape.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { type Frame, uninitialized } from '../vm/bytecode/frame.ts';
import { fastKey } from '../vm/language/index-key.ts';
import { owns } from '../vm/language/primordials.ts';
import { FunctionConstructor } from '../vm/machine/may-generate.ts';
import { type Check, compileCheck, compileTest, looksInside } from './check-guard.ts';
import { callNative } from './collection-slots.ts';
import type { Guard, InheritedProperty } from './guard.ts';
import { sourcesOf } from './guard-sources.ts';
import { lookupGetter } from './inherited-property.ts';
import { isProxy, proxyTest } from './plain.ts';
import { isHarmless, isReadThrough, PlainReads, readerOfCall } from './plain-reads.ts';
import { compileRead, type Reader, type Source } from './source.ts';
import { sourceKey } from './source-key.ts';

/** Engines don't optimize much longer functions. */
const mostStatements = 200;

/**
 * Checks `guards` in order. True if all hold; a read that throws is a miss. `frames`: a call in which all hold;
 * inherited methods are found faster in objects with the same prototypes as there.
 */
export function generateChecks(
  guards: readonly Guard[],
  sizes: readonly number[],
  frames: readonly Frame[],
): Check {
  const writer = new CheckWriter(guards, sizes, frames);
  const parts: Check[] = [];
  for (const guard of alongPaths(guards)) {
    writer.write(guard);
    if (writer.statements >= mostStatements) parts.push(writer.take());
  }
  if (writer.statements > 0) parts.push(writer.take());
  if (parts.length === 1) return parts[0]!;
  return (frames) => {
    for (let i = 0; i < parts.length; i++) if (!parts[i]!(frames)) return false;
    return true;
  };
}

/** Locations on paths of up to this length usually distinguish entries. */
const shallow = 3;

/**
 * Sorts guards: first those on locations near the arguments, which distinguish entries; the rest by path, so that the
 * path to an object is read once for all guards on it.
 */
function alongPaths(guards: readonly Guard[]): readonly Guard[] {
  const placed = guards.map((guard, order) => {
    const [source] = sourcesOf(guard);
    const isNear = source === undefined || depthOf(source) <= shallow;
    return { guard, order, path: isNear ? null : sourceKey(source) };
  });
  placed.sort((a, b) => {
    if (a.path === null || b.path === null) {
      return a.path === b.path ? a.order - b.order : a.path === null ? -1 : 1;
    }
    return a.path < b.path ? -1 : a.path > b.path ? 1 : a.order - b.order;
  });
  return placed.map(({ guard }) => guard);
}

function depthOf(source: Source): number {
  return owns(source, 'base') ? 1 + depthOf(source.base) : 1;
}

const { getPrototypeOf, hasOwn } = Object;

class CheckWriter {
  /** Locations with a guard that would run a Proxy's handler. */
  readonly #holders: ReadonlySet<string>;
  /** Locations guarded by identity. */
  readonly #identities: ReadonlyMap<string, object>;
  readonly #sizes: readonly number[];
  readonly #lines: string[] = [];
  /** Conditions on variables that were already checked. */
  readonly #expected = new Set<string>();
  /** The variable of each location read so far. */
  readonly #places = new Map<string, string>();
  readonly #constants: unknown[] = [];
  readonly #names = new Map<unknown, string>();
  /** Reads for guards that are checked one by one. */
  #reads = new PlainReads();
  #seen: Set<unknown>[] = [];
  /** Reads a location in the known call. */
  readonly #now: (source: Source) => unknown;
  /** By prototype and key: the variable that is true if no getter was found there. */
  readonly #plain = new Map<string, string>();

  constructor(guards: readonly Guard[], sizes: readonly number[], frames: readonly Frame[]) {
    this.#sizes = sizes;
    this.#now = readerOfCall(frames);
    this.#holders = holdersOf(guards);
    this.#identities = new Map(
      guards.flatMap((guard) => {
        return guard.kind === 'identity' ? [[sourceKey(guard.source), guard.value] as const] : [];
      }),
    );
  }

  get statements(): number {
    return this.#lines.length;
  }

  /** Returns the function generated since the last call. */
  take(): Check {
    const [constants, reads, seen] = [this.#constants.slice(), this.#reads, this.#seen];
    const names = constants.map((_, i) => `c${i}`);
    // A check must not keep objects alive.
    const end = () => {
      reads.forget();
      for (const each of seen) each.clear();
    };
    const atEnd = reads.isEmpty && seen.length === 0 ? '' : 'finally { end(); }';
    const text = `const [${names.join()}] = C; return (F) => { let g; try {\n${this.#lines.join('\n')}\nreturn true; } catch { return false; } ${atEnd} }`;
    this.#lines.length = 0;
    this.#expected.clear();
    this.#constants.length = 0;
    this.#places.clear();
    this.#names.clear();
    this.#plain.clear();
    this.#reads = new PlainReads();
    this.#seen = [];
    const make = new FunctionConstructor('C', 'end', text) as (
      constants: readonly unknown[],
      end: () => void,
    ) => Check;
    return make(constants, end);
  }

  write(guard: Guard): void {
    switch (guard.kind) {
      case 'gradMode':
        this.#expect(`${this.#constant(gradEnabled)}() === ${guard.enabled}`);
        break;
      case 'device':
      case 'opDevice':
      case 'number': {
        const check = compileCheck(guard, this.#sizes, this.#reads);
        this.#expect(`${this.#constant(check)}(F)`);
        break;
      }
      case 'same': {
        const [one, other] = [this.#read(guard.source), this.#read(guard.other)];
        this.#expect(`${one} ${guard.same ? '===' : '!=='} ${other}`);
        break;
      }
      case 'distinct':
        this.#writeDistinct(guard.sources, guard.others);
        break;
      case 'data':
        for (const source of guard.sources) this.#read(source);
        break;
      case 'value': {
        const value = this.#constant(guard.value);
        const actual = this.#read(guard.source);
        const isPlain = guard.value !== 0 && !Number.isNaN(guard.value);
        this.#expect(isPlain ? `${actual} === ${value}` : `Object.is(${actual}, ${value})`);
        break;
      }
      case 'truthy':
        this.#expect(`${guard.truthy ? '' : '!'}${this.#read(guard.source)}`);
        break;
      case 'defined':
        this.#expect(`${this.#read(guard.source)} != null`);
        break;
      case 'typeof':
        this.#expect(`typeof ${this.#read(guard.source)} === ${JSON.stringify(guard.type)}`);
        break;
      case 'initialized':
        this.#expect(`${this.#read(guard.source)} !== ${this.#constant(uninitialized)}`);
        break;
      case 'identity':
        this.#expect(`${this.#read(guard.source)} === ${this.#constant(guard.value)}`);
        break;
      case 'leaf': {
        const read = this.#read(guard.source);
        const tensor = this.#constant(Tensor);
        this.#expect(`${read} instanceof ${tensor} && ${read}.isLeaf && !${read}.hooks?.length`);
        break;
      }
      case 'tensor':
        this.#writeTensor(guard);
        break;
      case 'prototype':
        for (const property of guard.properties) this.#writeInherited(guard.source, property);
        break;
      case 'bare': {
        const tensor = this.#read(guard.source);
        const [proto, has] = [this.#constant(getPrototypeOf), this.#constant(hasOwn)];
        this.#expect(`${proto}(${tensor}) === ${this.#constant(Tensor.prototype)}`);
        for (const key of guard.keys) this.#expect(`!${has}(${tensor}, ${this.#constant(key)})`);
        break;
      }
      default:
        this.#expect(`${this.#constant(compileTest(guard))}(${this.#read(guard.source)})`);
    }
  }

  #writeTensor(guard: Guard & { kind: 'tensor' }): void {
    const { source, dtype, shape, strides, device, requiresGrad } = guard;
    const x = this.#read(source);
    this.#expect(
      `${x} instanceof ${this.#constant(Tensor)} && ${x}.dtype === ${this.#constant(dtype)}` +
        ` && ${x}.device === ${this.#constant(device)} && ${x}.requiresGrad === ${requiresGrad}`,
    );
    const sizes = shape.flatMap((size, dim) => {
      if (size === 'any') return [];
      return size === null ? [`g[${dim}] >= 2`] : [`g[${dim}] === ${size}`];
    });
    this.#expect([`(g = ${x}.shape).length === ${shape.length}`, ...sizes].join(' && '));
    if (strides === null || strides === 'any') {
      const isUsual = strides === null && shape.every((size) => typeof size === 'number');
      const usual = isUsual
        ? `${this.#stridesAre(x, contiguousStrides(shape as number[]))} || `
        : '';
      this.#expect(`${usual}${strides === 'any' ? '!' : ''}${x}.isContiguous`);
    } else {
      this.#expect(this.#stridesAre(x, strides));
    }
    this.#expect(`${x}.holder !== null`);
  }

  #stridesAre(x: string, strides: readonly number[]): string {
    const steps = strides.map((stride, dim) => `g[${dim}] === ${stride}`);
    return [`(g = ${x}.strides).length === ${strides.length}`, ...steps].join(' && ');
  }

  #writeInherited(source: Source, { key, getter, value }: InheritedProperty): void {
    const [object, name] = [this.#read(source), this.#constant(key)];
    const found = `${this.#constant(lookupGetter)}.call(${object}, ${name})`;
    this.#expect(`${found} === ${this.#constant(getter)}`);
    if (getter === undefined) this.#expect(`${object}[${name}] === ${this.#constant(value)}`);
  }

  #writeDistinct(sources: readonly Source[], others: readonly Source[]): void {
    const seen = new Set<unknown>();
    this.#seen.push(seen);
    const set = this.#constant(seen);
    for (const [i, source] of sources.entries()) {
      this.#lines.push(`${set}.add(${this.#read(source)});`);
      this.#expect(`${set}.size === ${i + 1}`);
    }
    for (const other of others) this.#expect(`!${set}.has(${this.#read(other)})`);
  }

  #expect(condition: string): void {
    if (this.#expected.has(condition)) return;
    this.#expected.add(condition);
    this.#lines.push(`if (!(${condition})) return false;`);
  }

  #constant(value: unknown): string {
    if (typeof value === 'string') return JSON.stringify(value);
    if (typeof value === 'boolean' || value === null || value === undefined) return String(value);
    let name = this.#names.get(value);
    if (!name || Object.is(value, -0)) {
      name = `c${this.#constants.push(value) - 1}`;
      this.#names.set(value, name);
    }
    return name;
  }

  /** Returns the variable that contains the value at the location. */
  #read(source: Source): string {
    const key = sourceKey(source);
    const known = this.#places.get(key);
    if (known) return known;
    const value = this.#expression(source);
    const name = `v${this.#places.size}`;
    this.#places.set(key, name);
    this.#lines.push(`const ${name} = ${value};`);
    const only = this.#identities.get(key);
    // An object that was not a Proxy when it was traced can't become one.
    if (only && !isProxy(only)) this.#expect(`${name} === ${this.#constant(only)}`);
    else if (this.#holders.has(key)) this.#expect(`!${this.#constant(proxyTest())}(${name})`);
    return name;
  }

  #expression(source: Source): string {
    switch (source.kind) {
      case 'argument':
        return `F[${source.frame}].args[${source.index}]`;
      case 'this':
        return `F[${source.frame}].thisValue`;
      case 'register':
        return `F[${source.frame}].registers[${source.reg}]`;
      case 'held':
        return this.#constant(source.value);
      case 'property':
        if (!isReadThrough(source)) return this.#property(source.base, source.key);
        break;
      case 'lookup': {
        const [collection, key] = [this.#read(source.collection), this.#read(source.base)];
        const sum = source.plus === 0 ? key : `${key} + ${source.plus}`;
        return `${this.#constant(callNative)}(${collection}, '${source.method}', ${sum})`;
      }
      default:
        break;
    }
    if (!owns(source, 'base')) return `${this.#constant(compileRead(source, notRead))}(F)`;
    const read = this.#constant(readFrom(source));
    return `${read}(F, ${this.#read(source.base)})`;
  }

  #property(from: Source, name: string | symbol): string {
    const object = this.#read(from);
    const key = fastKey(name);
    const text = typeof key === 'symbol' ? this.#constant(key) : JSON.stringify(key);
    const lookup = this.#constant(lookupGetter);
    const inherits = this.#inherits(from, key, text);
    this.#lines.push(
      `if (${inherits}(g = ${lookup}.call(${object}, ${text})) !== undefined && !${this.#constant(isHarmless)}(${object}, g)) return false;`,
    );
    return `${object}[${text}]`;
  }

  /**
   * Returns a condition that is false for an object that inherits the property from the same place as in the known
   * call, if that has no getter. Looking for a getter takes most of the time of a read, so each prototype is searched
   * once for all objects.
   */
  #inherits(from: Source, key: PropertyKey, text: string): string {
    const now = this.#now(from);
    if (typeof now !== 'object' || !now || hasOwn(now, key)) return '';
    const prototype: unknown = getPrototypeOf(now);
    if (!prototype || isProxy(prototype)) return '';
    const constant = this.#constant(prototype);
    const at = `${constant} ${text}`;
    let plain = this.#plain.get(at);
    if (!plain) {
      plain = `p${this.#plain.size}`;
      this.#plain.set(at, plain);
      this.#lines.push(
        `const ${plain} = ${this.#constant(lookupGetter)}.call(${constant}, ${text}) === undefined;`,
      );
    }
    const [object, has, of] = [
      this.#read(from),
      this.#constant(hasOwn),
      this.#constant(getPrototypeOf),
    ];
    return `(!${plain} || ${has}(${object}, ${text}) || ${of}(${object}) !== ${constant}) && `;
  }
}

function notRead(): never {
  throw new TypeError('the source goes through nothing');
}

/** Reads the last step of a source. */
function readFrom(source: Source): (frames: readonly Frame[], base: unknown) => unknown {
  let current: unknown;
  const read: Reader = compileRead(source, () => () => current);
  return (frames, base) => {
    current = base;
    try {
      return read(frames);
    } finally {
      current = undefined;
    }
  };
}

function holdersOf(guards: readonly Guard[]): Set<string> {
  const holders = new Set<string>();
  const addBases = (source: Source): void => {
    if (!owns(source, 'base') || holders.has(sourceKey(source.base))) return;
    holders.add(sourceKey(source.base));
    addBases(source.base);
  };
  for (const guard of guards) {
    for (const source of sourcesOf(guard)) {
      addBases(source);
      if (looksInside.has(guard.kind)) holders.add(sourceKey(source));
    }
  }
  return holders;
}
