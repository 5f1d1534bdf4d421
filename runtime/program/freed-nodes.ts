import type { GradNode } from '../tensor/grad-node.ts';

/** A region's queries to the surrounding program. */
export interface OutsideNodes {
  isFreed(node: GradNode): boolean;
  mayBeFreed(node: GradNode): boolean;
}

interface FreedSoFar {
  readonly certainly: ReadonlySet<GradNode>;
  readonly possibly: ReadonlySet<GradNode>;
}

/** Nodes freed by a backward inside a program under construction: they can't run again. */
export class FreedNodes {
  readonly #outside: OutsideNodes | undefined;
  /** Copied on growth, so that a rollback is an assignment. */
  #sets: FreedSoFar = { certainly: new Set(), possibly: new Set() };

  constructor(outside: OutsideNodes | undefined) {
    this.#outside = outside;
  }

  get soFar(): FreedSoFar {
    return this.#sets;
  }

  rollback(to: FreedSoFar): void {
    this.#sets = to;
  }

  /** Notes that a backward of this program has freed the saved values of these nodes. */
  note(nodes: readonly GradNode[]): void {
    const { certainly, possibly } = this.#sets;
    this.#sets = { certainly: new Set([...certainly, ...nodes]), possibly };
  }

  /** Notes that a backward in a branch or loop has freed these nodes on some paths. */
  notePossibly(nodes: Iterable<GradNode>): void {
    const { certainly, possibly } = this.#sets;
    this.#sets = { certainly, possibly: new Set([...possibly, ...nodes]) };
  }

  /** The nodes freed by a backward in this program or in its regions. */
  get all(): Iterable<GradNode> {
    return [...this.#sets.certainly, ...this.#sets.possibly];
  }

  /** Whether no backward of this program or its regions has freed a node. */
  get isEmpty(): boolean {
    const { certainly, possibly } = this.#sets;
    return certainly.size === 0 && possibly.size === 0;
  }

  isFreed(node: GradNode): boolean {
    return this.#sets.certainly.has(node) || (this.#outside?.isFreed(node) ?? false);
  }

  mayBeFreed(node: GradNode): boolean {
    return this.#sets.possibly.has(node) || (this.#outside?.mayBeFreed(node) ?? false);
  }
}
