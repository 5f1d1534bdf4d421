import { ArgumentError } from '../errors/errors.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';

/** A list of modules, named by position. It has no `forward`: its owner decides what runs when. */
export class ModuleList<M extends Module = Module> extends Module {
  readonly #items: M[];

  constructor(modules: Iterable<M> = []) {
    super();
    this.#items = [...modules];
  }

  get length(): number {
    return this.#items.length;
  }

  /** Counted from the end when negative. */
  at(index: number): M | undefined {
    return this.#items.at(index);
  }

  push(...modules: M[]): this {
    this.#items.push(...modules);
    return this;
  }

  [Symbol.iterator](): Iterator<M> {
    return this.#items[Symbol.iterator]();
  }

  protected override ownValues(): Iterable<[string, unknown]> {
    return this.#items.map((item, i): [string, unknown] => [String(i), item]);
  }

  override forward(): never {
    throw notCallable('ModuleList');
  }
}

/** Modules by name. It has no `forward`: its owner decides what runs when. */
export class ModuleDict<M extends Module = Module> extends Module {
  readonly #items: Map<string, M>;

  constructor(modules: Readonly<Record<string, M>> = {}) {
    super();
    this.#items = new Map(Object.entries(modules));
  }

  get size(): number {
    return this.#items.size;
  }

  get(name: string): M | undefined {
    return this.#items.get(name);
  }

  set(name: string, module: M): this {
    this.#items.set(name, module);
    return this;
  }

  delete(name: string): boolean {
    return this.#items.delete(name);
  }

  keys(): Iterable<string> {
    return this.#items.keys();
  }

  [Symbol.iterator](): Iterator<[string, M]> {
    return this.#items[Symbol.iterator]();
  }

  protected override ownValues(): Iterable<[string, unknown]> {
    return this.#items;
  }

  override forward(): never {
    throw notCallable('ModuleDict');
  }
}

/** The input itself. */
export class Identity extends Module {
  override forward(input: Tensor): Tensor {
    return input;
  }
}

function notCallable(name: string): ArgumentError {
  return new ArgumentError({
    what: `${name}: nothing says how to run it`,
    given: `a call of forward() of a ${name}`,
    expected: 'calls of the modules in it',
    remedy: 'loop over it in the forward of your module, or use Sequential',
  });
}
