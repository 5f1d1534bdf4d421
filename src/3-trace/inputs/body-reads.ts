import type { Query } from '../../guards/query.ts';
import type { Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { OwnMap, OwnSet } from '../../vm/language/primordials.ts';
import type { CellVariable, NewObjectVariable, Variable } from '../variables/variable.ts';

/** The reads of the body of a checkpointed call, which eager backward repeats when it runs the body again. */
export class BodyReads {
  readonly #sources = new Map<string, Source>();
  /** Variables that the trace creates. */
  readonly cells = new OwnSet<CellVariable>();
  /** Objects that the trace creates, with the keys that were read. */
  readonly #objects = new OwnMap<NewObjectVariable, Set<string>>();
  /** Objects that the trace creates, whose keys were listed. */
  readonly #listed = new OwnSet<NewObjectVariable>();

  get sources(): readonly Source[] {
    return [...this.#sources.values()];
  }

  get objects(): ReadonlyMap<NewObjectVariable, ReadonlySet<string>> {
    return this.#objects;
  }

  source(source: Source): void {
    this.#sources.set(sourceKey(source), source);
  }

  query(base: Source, query: Query): void {
    this.source({ kind: 'query', base, query, key: undefined });
  }

  /** Notes that the keys of an object are listed. */
  keys(object: NewObjectVariable): void {
    this.#listed.add(object);
  }

  property(object: NewObjectVariable, key: string): void {
    const keys = this.#objects.get(object);
    if (keys) keys.add(key);
    else this.#objects.set(object, new Set([key]));
  }

  /**
   * Returns the arrays and collections among the values that were read, whose content counts as read, and the objects
   * whose keys were listed.
   */
  lists(changed: readonly Variable[]): readonly Variable[] {
    const cells = [...this.cells].map(({ content }) => content);
    const properties = [...this.#objects].flatMap(([{ entries }, keys]) =>
      [...keys].flatMap((key) => entries.get(key) ?? []),
    );
    const found = new OwnSet<Variable>();
    const add = (variable: Variable) => {
      if (!/^new(?:Array|TypedArray|Collection)$/.test(variable.kind) || found.has(variable))
        return;
      // The content of weak collections can't be listed.
      if (variable.kind === 'newCollection' && variable.type.startsWith('Weak')) return;
      found.add(variable);
      if (variable.kind === 'newArray') variable.elements.forEach(add);
      if (variable.kind === 'newCollection')
        for (const { value } of variable.entries.values()) if (value) add(value);
    };
    [...cells, ...properties, ...changed].forEach(add);
    return [...found, ...this.#listed];
  }
}
