/** Programs as trees of statements, so that one that fails can be made smaller. */

/** A statement: text around the statements inside. */
export interface Node {
  readonly open: string;
  readonly inner: readonly (readonly Node[])[];
  /** Between the lists inside. */
  readonly between?: string;
  readonly close: string;
}

export const line = (text: string): Node => ({ open: text, inner: [], close: '' });

/** `open { … } between { … } close` */
export const around = (
  open: string,
  inner: readonly (readonly Node[])[],
  { between = '} else {', close = '}' }: { between?: string; close?: string } = {},
): Node => ({ open: `${open} {\n`, inner, between: `\n${between}\n`, close: `\n${close}` });

export function print(nodes: readonly Node[]): string {
  return nodes
    .map(({ open, inner, between = '', close }) =>
      inner.length === 0 ? open : open + inner.map(print).join(between) + close,
    )
    .join('\n');
}

/** All programs with one statement fewer, or one replaced by what is inside. */
export function* smaller(nodes: readonly Node[]): Generator<readonly Node[]> {
  for (const [i, node] of nodes.entries()) {
    const [before, after] = [nodes.slice(0, i), nodes.slice(i + 1)];
    yield [...before, ...after];
    for (const inner of node.inner) yield [...before, ...inner, ...after];
    for (const [k, inner] of node.inner.entries()) {
      for (const less of smaller(inner)) {
        const changed = node.inner.map((each, at) => (at === k ? less : each));
        yield [...before, { ...node, inner: changed }, ...after];
      }
    }
  }
}

/** Choices that follow from a seed (mulberry32). */
export class Choices {
  #state: number;
  #names = 0;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    const state = this.#state;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  one<T>(all: readonly T[]): T {
    return all[this.below(all.length)]!;
  }

  /** A name that no other part of the program has. */
  name(prefix: string): string {
    return `${prefix}${this.#names++}`;
  }
}
