import type { GradNode } from '../tensor/grad-node.ts';

/** The questions of a region to the surrounding program. */
export interface OutsideNodes {
  isSpent(node: GradNode): boolean;
  mayBeSpent(node: GradNode): boolean;
}

interface SpentSoFar {
  readonly certainly: ReadonlySet<GradNode>;
  readonly perhaps: ReadonlySet<GradNode>;
}

/** Nodes that a backward inside a program under construction has freed: they can't run again. */
export class FreedNodes {
  readonly #outside: OutsideNodes | undefined;
  /** Sets that grow are made again, so that a rollback is an assignment. */
  #sets: SpentSoFar = { certainly: new Set(), perhaps: new Set() };

  constructor(outside: OutsideNodes | undefined) {
    this.#outside = outside;
  }

  get soFar(): SpentSoFar {
    return this.#sets;
  }

  rollback(to: SpentSoFar): void {
    this.#sets = to;
  }

  /** A backward of this program has freed what these nodes saved. */
  note(nodes: readonly GradNode[]): void {
    const { certainly, perhaps } = this.#sets;
    this.#sets = { certainly: new Set([...certainly, ...nodes]), perhaps };
  }

  /** A backward in a branch or loop has, on some paths. */
  notePerhaps(nodes: Iterable<GradNode>): void {
    const { certainly, perhaps } = this.#sets;
    this.#sets = { certainly, perhaps: new Set([...perhaps, ...nodes]) };
  }

  /** The nodes that a backward in this program, or inside its regions, has freed. */
  get all(): Iterable<GradNode> {
    return [...this.#sets.certainly, ...this.#sets.perhaps];
  }

  isSpent(node: GradNode): boolean {
    return this.#sets.certainly.has(node) || (this.#outside?.isSpent(node) ?? false);
  }

  mayBeSpent(node: GradNode): boolean {
    return this.#sets.perhaps.has(node) || (this.#outside?.mayBeSpent(node) ?? false);
  }
}
