import type { ValueId } from './program.ts';

/** The memory of a region's inputs, as the surrounding program knows it. */
export interface OutsideMemory {
  noteWrite(input: ValueId): void;
  /** Whether two inputs of the region may share memory outside. */
  mayShare(one: ValueId, other: ValueId): boolean;
  forgetWrite(input: ValueId): void;
  /** Returns undefined for an input that represents no outer value. */
  versionOf(input: ValueId): number | undefined;
}

/** Tracks which values of a program under construction share memory, and how often each memory is written. */
export class ValueMemory {
  /** The value that each view was taken of. */
  readonly #bases = new Map<ValueId, ValueId>();
  /** The number of in-place writes so far, per root. */
  readonly #versions = new Map<ValueId, number>();
  /** Roots that may share memory: results of control ops, and operands that they may alias. */
  readonly #linked = new Map<ValueId, Set<ValueId>>();
  /** For each write, in order, the roots it may have changed; used for rollback. */
  readonly #writes: (readonly ValueId[])[] = [];
  readonly #isInput: (id: ValueId) => boolean;
  readonly #outside: OutsideMemory | undefined;

  /** `outside` tracks the memory of a region's inputs. */
  constructor(isInput: (id: ValueId) => boolean, outside: OutsideMemory | undefined) {
    this.#isInput = isInput;
    this.#outside = outside;
  }

  noteView(view: ValueId, base: ValueId): void {
    this.#bases.set(view, base);
  }

  /** Notes that results and operands of a control op may share memory. */
  noteShared(values: readonly ValueId[]): void {
    const roots = new Set(values.map((id) => this.rootOf(id)));
    for (const from of roots) for (const to of roots) this.#link(from, to);
  }

  #link(from: ValueId, to: ValueId): void {
    const linked = this.#linked.get(from);
    if (linked) linked.add(to);
    else this.#linked.set(from, new Set([to]));
  }

  /** Returns the value that owns the memory: the value itself unless it is a view. */
  rootOf(id: ValueId): ValueId {
    let root = id;
    for (let base = this.#bases.get(root); base !== undefined; base = this.#bases.get(root)) {
      root = base;
    }
    return root;
  }

  /** Whether a write to either value may change the other. */
  mayShare(one: ValueId, other: ValueId): boolean {
    const [root, to] = [this.rootOf(one), this.rootOf(other)];
    if (root === to) return true;
    const others = this.#linkedTo(to);
    return this.#linkedTo(root).some((a) =>
      others.some((b) => a === b || this.#mayBeOneOutside(a, b)),
    );
  }

  #mayBeOneOutside(a: ValueId, b: ValueId): boolean {
    if (!this.#outside || !this.#isInput(a) || !this.#isInput(b)) return false;
    return this.#outside.mayShare(a, b);
  }

  /** Returns the number of values that share this memory. */
  sharing(id: ValueId): number {
    const root = this.rootOf(id);
    let count = 1;
    for (const view of this.#bases.keys()) if (this.rootOf(view) === root) count++;
    return count;
  }

  get writeCount(): number {
    return this.#writes.length;
  }

  /** Notes a write to the value's memory, by an op of this program or of a region. */
  noteWrite(id: ValueId): void {
    const roots = this.#linkedTo(this.rootOf(id));
    this.#writes.push(roots);
    for (const root of roots) {
      this.#versions.set(root, (this.#versions.get(root) ?? 0) + 1);
      if (this.#isInput(root)) this.#outside?.noteWrite(root);
    }
  }

  /** Whether this and another value may share memory because of a branch or loop. */
  isLinked(id: ValueId): boolean {
    return (this.#linked.get(this.rootOf(id))?.size ?? 0) > 1;
  }

  /** Returns this root and the roots that may share memory with it. */
  #linkedTo(root: ValueId): readonly ValueId[] {
    if (!this.#linked.has(root)) return [root];
    const found = new Set([root]);
    // The loop also visits roots added while it runs.
    for (const each of found) for (const other of this.#linked.get(each) ?? []) found.add(other);
    return [...found];
  }

  /** Rolls back the last `count` writes. */
  forgetWrites(count: number): void {
    for (let i = 0; i < count; i++) {
      for (const root of this.#writes.pop()!) {
        this.#versions.set(root, this.#versions.get(root)! - 1);
        if (this.#isInput(root)) this.#outside?.forgetWrite(root);
      }
    }
  }

  /** Returns the number of writes by this program and, for inputs, the surrounding one. */
  versionOf(id: ValueId): number {
    const root = this.rootOf(id);
    const outside = this.#isInput(root) ? this.#outside?.versionOf(root) : undefined;
    return outside ?? this.#versions.get(root) ?? 0;
  }

  /** Forgets all values from `from` on, and all writes after the first `writes`. */
  rollback(from: ValueId, writes: number): void {
    this.forgetWrites(this.#writes.length - writes);
    for (const id of this.#bases.keys()) if (id >= from) this.#bases.delete(id);
    for (const [id, linked] of this.#linked) {
      if (id >= from) this.#linked.delete(id);
      else for (const other of linked) if (other >= from) linked.delete(other);
    }
  }
}
