import type { CollectionEntry, Variable } from '../variables/variable.ts';

/** The trace's writes to a pre-existing Map or Set, entry by entry. */
export interface WrittenEntries {
  /** Written entries by key, in the order in which they follow the unwritten entries; null for deleted entries. */
  readonly written: Map<unknown, WrittenEntry | null>;
  /** All entries, once their number or order matters. */
  all: Map<unknown, CollectionEntry> | null;
  /** Inserted keys, as for collections created in the trace. */
  readonly putIn: unknown[];
  /** Keys that were written or deleted. */
  readonly keys: Variable[];
}

/** `reinserted`: deleted before it was written, so that it has moved to the end. */
export type WrittenEntry = CollectionEntry & { readonly reinserted: boolean };
