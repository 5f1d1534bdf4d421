import { getOrInsert } from '../../runtime/collections/get-or-insert.ts';
import { Module } from '../../runtime/nn/module/module.ts';
import { isPrimitiveValue } from '../../runtime/save/primitive.ts';
import type { StateEntry } from '../../runtime/save/program-state.ts';
import type { SavedSource } from '../../runtime/save/saved-source.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { compileReader, printSource, type Source, type SourceNames } from '../guards/source.ts';
import { rootOf, sourceKey } from '../guards/source-key.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import { owns } from '../vm/language/primordials.ts';
import { PrivateSlot } from '../vm/language/private-slot.ts';
import { notSavable } from './not-savable.ts';

/** A function to save, with its bound arguments. */
interface SavedFunction {
  readonly name: string;
  /** The frame of a call, to read sources other than arguments. */
  readonly frames: readonly Frame[];
  readonly names: SourceNames;
  /** The number of bound arguments. */
  readonly bound: number;
}

/**
 * Maps the sources of a trace to locations of a saved program. Everything other than arguments becomes the program's
 * state, with its current value. Sources that lead to the same property or the same tensor share an entry, unless a
 * program replaces the tensor.
 */
export class SourceMapper {
  readonly state: StateEntry[] = [];
  /** The keys of locations that programs write. */
  written: ReadonlySet<string> = new Set();
  readonly #fn: SavedFunction;
  readonly #known = new Map<string, number>();
  readonly #tensors = new Map<Tensor, number>();
  readonly #used = new Set<string>();
  readonly #fields = new Map<object, PrivateSlot[]>();
  readonly #moduleNames = new Map<Module, ReadonlyMap<unknown, string>>();

  constructor(fn: SavedFunction) {
    this.#fn = fn;
  }

  isArgument(source: Source): boolean {
    const root = rootOf(source);
    if (root.kind === 'argumentCount') return true;
    return root.kind === 'argument' && root.index >= this.#fn.bound;
  }

  of(source: Source): SavedSource {
    if (source.kind === 'random') return { kind: 'random', field: source.field };
    if (source.kind === 'called') throw notSavable(this.#fn.name, `it calls ${source.fn}()`);
    if (!this.isArgument(source)) return { kind: 'state', index: this.#stateOf(source) };
    return this.#inArgument(source);
  }

  /** Returns the location of a property that the function writes. */
  ofProperty(object: Source, key: string | symbol): SavedSource {
    return this.of({ kind: 'property', base: object, key });
  }

  /** Returns the value of a source other than an argument. */
  valueOf(source: Source): unknown {
    return compileReader(source)(this.#fn.frames);
  }

  /** Whether the source is currently a tensor; throws if it is part of something that exists only during a call. */
  isTensor(source: Source): boolean {
    const value = this.#objectAt(source);
    if (value !== null || rootOf(source).kind !== 'this') return value instanceof Tensor;
    const text = printSource(source, this.#fn.names);
    throw notSavable(this.#fn.name, `it reads ${text}, and has no object outside of calls`);
  }

  /** Whether the source is currently an object or function, not an argument, that a file can't contain. */
  isObject(source: Source): boolean {
    const value = this.isArgument(source) ? null : this.#objectAt(source);
    return value !== null && !(value instanceof Tensor);
  }

  /**
   * Returns a key that is equal for sources that lead to one location, such as a property of one object reached along
   * different paths, or a variable that is read by its name and written as a property.
   */
  keyOf(source: Source): string {
    const variable = source.kind === 'free' && source.scope.place?.(source.name, false);
    if (variable) {
      const base: Source = { kind: 'held', value: variable.object, name: '' };
      return sourceKey({ kind: 'property', base, key: variable.key });
    }
    const isOutside = owns(source, 'base') && !this.isArgument(source);
    const field = isOutside && this.#fieldAt(source);
    if (field) return sourceKey({ kind: 'held', value: field, name: '' });
    const object = isOutside && this.#objectAt(source.base);
    if (!object) return sourceKey(source);
    return sourceKey({ ...source, base: { kind: 'held', value: object, name: '' } });
  }

  /**
   * Returns the private field that the source reads, or writes as a property: it is the same in each method that names
   * it.
   */
  #fieldAt(source: Source): PrivateSlot | undefined {
    const named = source.kind === 'property' ? source.base : source;
    if (named.kind !== 'private' || named.slot !== (source.kind === 'property')) return undefined;
    const { access } = named;
    const object = access.kind === 'field' && this.#objectAt(named.base);
    if (!object || !access.has(object)) return undefined;
    const known = this.#fields.get(object) ?? [];
    const found = known.find((each) => each.isReadBy(access));
    if (found) return found;
    const field = new PrivateSlot(access, object);
    this.#fields.set(object, [...known, field]);
    return field;
  }

  #objectAt(source: Source): object | null {
    try {
      const value = this.valueOf(source);
      return typeof value === 'object' || typeof value === 'function' ? value : null;
    } catch {
      // The surroundings of an entry have changed since: the path no longer exists.
      return null;
    }
  }

  #inArgument(source: Source): SavedSource {
    const { bound } = this.#fn;
    switch (source.kind) {
      case 'argument':
        return { kind: 'argument', index: source.index - bound };
      case 'argumentCount':
        return bound === 0 ? { kind: 'argumentCount' } : this.#refuse(source);
      case 'property':
      case 'hasProperty': {
        const { key } = source;
        if (typeof key === 'symbol') return this.#refuse(source);
        const base = this.#inArgument(source.base);
        return source.kind === 'property'
          ? { kind: 'property', base, key }
          : // A loaded program looks at own properties alone.
            { kind: 'hasProperty', base, key, own: true };
      }
      default:
        return this.#refuse(source);
    }
  }

  #refuse(source: Source): never {
    const text = printSource(source, this.#fn.names);
    throw notSavable(
      this.#fn.name,
      `it reads ${text}, which is not a plain property of an argument`,
    );
  }

  #stateOf(source: Source): number {
    const key = this.keyOf(source);
    return getOrInsert(
      this.#known,
      key,
      () => this.#gradientOf(source) ?? this.#valueEntry(source, this.written.has(key)),
    );
  }

  /** `weight.grad` is the gradient of the loaded tensor, if any. */
  #gradientOf(source: Source): number | undefined {
    if (source.kind !== 'property' || source.key !== 'grad') return undefined;
    if (!(this.valueOf(source.base) instanceof Tensor)) return undefined;
    const gradientOf = this.#stateOf(source.base);
    return this.state.push({ name: this.#nameOf(source), gradientOf }) - 1;
  }

  #valueEntry(source: Source, isWritten: boolean): number {
    const value = this.valueOf(source);
    if (value instanceof Tensor && !isWritten) {
      return getOrInsert(
        this.#tensors,
        value,
        () => this.state.push({ name: this.#nameOf(source), value }) - 1,
      );
    }
    if (value instanceof Tensor || isPrimitiveValue(value)) {
      return this.state.push({ name: this.#nameOf(source), value }) - 1;
    }
    const kind = typeof value === 'function' ? 'a function' : 'an object';
    const text = printSource(source, this.#fn.names);
    throw notSavable(this.#fn.name, `it needs ${text}, which is ${kind}`);
  }

  /**
   * `model.0.weight`: the name in the state dict of the outermost module; with a number appended if the name is
   * taken.
   */
  #nameOf(source: Source): string {
    const text = this.#nameInModule(source) ?? this.#textOf(source);
    let name = text;
    for (let n = 2; this.#used.has(name); n++) name = `${text} ${n}`;
    this.#used.add(name);
    return name;
  }

  #textOf(source: Source): string {
    return printSource(source, this.#fn.names)
      .replace(/\[(\d+)\]/g, '.$1')
      .replace(/^this\./, '');
  }

  /** Modules may name their children differently than their properties: the layers of `Sequential` are `0`, `1`, …. */
  #nameInModule(source: Source): string | undefined {
    let found: string | undefined;
    for (let base = source; base.kind === 'property'; ) {
      base = base.base;
      const module = this.valueOf(base);
      const name = module instanceof Module && this.#namesIn(module).get(this.valueOf(source));
      if (!name) continue;
      const text = this.#textOf(base);
      found = text === 'this' ? name : `${text}.${name}`;
    }
    return found;
  }

  #namesIn(module: Module): ReadonlyMap<unknown, string> {
    const known = this.#moduleNames.get(module);
    if (known) return known;
    const names = new Map<unknown, string>();
    for (const [name, tensor] of Object.entries(module.stateDict())) {
      if (!names.has(tensor)) names.set(tensor, name);
    }
    this.#moduleNames.set(module, names);
    return names;
  }
}
