import { idOf } from '../../state/object-ids.ts';
import {
  type DeviceScalar,
  known,
  type UnionTag,
  type Variable,
} from '../../variables/variable.ts';
import type { Leaf, LeafVariable } from '../numbers/leaf.ts';
import type { Values } from './build-structure.ts';

/** Creates the leaves that select a union's option; equal selections share a leaf. */
export class UnionTags {
  readonly #leaves: Leaf[];
  readonly #known = new Map<string, (joined: readonly Variable[]) => UnionTag>();

  constructor(leaves: Leaf[]) {
    this.#leaves = leaves;
  }

  /** `numbers`: for each path, the option index for each option of its own union, or for its only value. */
  of(
    paths: Values,
    numbers: readonly (readonly number[] | null)[],
  ): (joined: readonly Variable[]) => UnionTag {
    const key = paths
      .map((path, i) => {
        const whose = path?.kind === 'union' ? idOf(path.selector) : '';
        return `${whose} ${numbers[i]?.join() ?? '-'}`;
      })
      .join(';');
    const existing = this.#known.get(key);
    if (existing) return existing;
    const values = paths.map((path, i): LeafVariable | null => {
      const to = numbers[i];
      if (!path || !to) return null;
      if (path.kind !== 'union') return known(to[0]!);
      const { which } = path.selector;
      if (to.every((number, option) => number === option)) return which;
      return { kind: 'renumbered', which: which.tensor, to };
    });
    const index = this.#leaves.push({ kind: 'number', values }) - 1;
    let tag: { readonly which: Variable; readonly selector: UnionTag } | null = null;
    // Locations that share a tag are specialized together.
    const build = (joined: readonly Variable[]): UnionTag => {
      const which = joined[index] as DeviceScalar;
      if (tag?.which !== which) tag = { which, selector: { which, chosen: null } };
      return tag.selector;
    };
    this.#known.set(key, build);
    return build;
  }
}
