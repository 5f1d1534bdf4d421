import type { ValueId } from './program.ts';

/** The memory of a region's inputs, as the surrounding program knows it. */
export interface OutsideMemory {
  noteWrite(input: ValueId): void;
  /** Two inputs of the region may be one memory outside. */
  mayShare(one: ValueId, other: ValueId): boolean;
  forgetWrite(input: ValueId): void;
  /** Undefined for an input that represents no value outside. */
  versionOf(input: ValueId): number | undefined;
}

/** Tracks which values of a program under construction share memory, and how often each memory was written. */
export class ValueMemory {
  /** The value whose memory each view shows. */
  readonly #bases = new Map<ValueId, ValueId>();
  /** Writes in place so far, per root. */
  readonly #versions = new Map<ValueId, number>();
  /** Roots that may be one memory: results of control ops, and operands that these may be. */
  readonly #linked = new Map<ValueId, Set<ValueId>>();
  /** For each write, in order, the roots whose memory it may have changed: a rollback removes them. */
  readonly #writes: (readonly ValueId[])[] = [];
  readonly #isInput: (id: ValueId) => boolean;
  readonly #outside: OutsideMemory | undefined;

  /** `outside`: what a region says and asks of the memory of its inputs. */
  constructor(isInput: (id: ValueId) => boolean, outside: OutsideMemory | undefined) {
    this.#isInput = isInput;
    this.#outside = outside;
  }

  noteView(view: ValueId, base: ValueId): void {
    this.#bases.set(view, base);
  }

  /** Results of a control op, and operands, that may be one memory. */
  noteShared(values: readonly ValueId[]): void {
    const roots = new Set(values.map((id) => this.rootOf(id)));
    for (const from of roots) for (const to of roots) this.#link(from, to);
  }

  #link(from: ValueId, to: ValueId): void {
    const linked = this.#linked.get(from);
    if (linked) linked.add(to);
    else this.#linked.set(from, new Set([to]));
  }

  /** The value whose memory this one shows: itself, unless it is a view. */
  rootOf(id: ValueId): ValueId {
    let root = id;
    for (let base = this.#bases.get(root); base !== undefined; base = this.#bases.get(root)) {
      root = base;
    }
    return root;
  }

  /** Whether a write to one may change the other. */
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

  /** How many values show this memory. */
  sharing(id: ValueId): number {
    const root = this.rootOf(id);
    let count = 1;
    for (const view of this.#bases.keys()) if (this.rootOf(view) === root) count++;
    return count;
  }

  get writeCount(): number {
    return this.#writes.length;
  }

  noteWrite(id: ValueId): void {
    const roots = this.#linkedTo(this.rootOf(id));
    this.#writes.push(roots);
    for (const root of roots) {
      this.#versions.set(root, (this.#versions.get(root) ?? 0) + 1);
      if (this.#isInput(root)) this.#outside?.noteWrite(root);
    }
  }

  /** A branch or loop may have left it and another value as one memory. */
  isLinked(id: ValueId): boolean {
    return (this.#linked.get(this.rootOf(id))?.size ?? 0) > 1;
  }

  /** The roots that may be the same memory, with this one. */
  #linkedTo(root: ValueId): readonly ValueId[] {
    if (!this.#linked.has(root)) return [root];
    const found = new Set([root]);
    // Includes those that are added during the iteration.
    for (const each of found) for (const other of this.#linked.get(each) ?? []) found.add(other);
    return [...found];
  }

  /** Takes back that the last `count` writes were made. */
  forgetWrites(count: number): void {
    for (let i = 0; i < count; i++) {
      for (const root of this.#writes.pop()!) {
        this.#versions.set(root, this.#versions.get(root)! - 1);
        if (this.#isInput(root)) this.#outside?.forgetWrite(root);
      }
    }
  }

  /** Writes of this program's own, and of what surrounds it. */
  versionOf(id: ValueId): number {
    const root = this.rootOf(id);
    const outside = this.#isInput(root) ? this.#outside?.versionOf(root) : undefined;
    return outside ?? this.#versions.get(root) ?? 0;
  }

  /** Forgets the values from this one on, and all but the first `writes` writes. */
  rollback(from: ValueId, writes: number): void {
    this.forgetWrites(this.#writes.length - writes);
    for (const id of this.#bases.keys()) if (id >= from) this.#bases.delete(id);
    for (const [id, linked] of this.#linked) {
      if (id >= from) this.#linked.delete(id);
      else for (const other of linked) if (other >= from) linked.delete(other);
    }
  }
}
