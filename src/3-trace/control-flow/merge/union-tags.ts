import { idOf } from '../../state/object-ids.ts';
import {
  type DeviceScalar,
  known,
  type UnionTag,
  type Variable,
} from '../../variables/variable.ts';
import type { Leaf, LeafVariable } from '../numbers/leaf.ts';
import type { Values } from './build-structure.ts';

/** Leaves that say which option was chosen, by what each path chooses. */
export class UnionTags {
  readonly #leaves: Leaf[];
  readonly #known = new Map<string, (joined: readonly Variable[]) => UnionTag>();

  constructor(leaves: Leaf[]) {
    this.#leaves = leaves;
  }

  /** `numbers`: per path, the option for each of those that its own union has, or the only one. */
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
    let made: { readonly which: Variable; readonly selector: UnionTag } | null = null;
    // Places that were chosen together are known together.
    const build = (joined: readonly Variable[]): UnionTag => {
      const which = joined[index] as DeviceScalar;
      if (made?.which !== which) made = { which, selector: { which, chosen: null } };
      return made.selector;
    };
    this.#known.set(key, build);
    return build;
  }
}
