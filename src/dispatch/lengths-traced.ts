import { formatPosition } from '../../runtime/errors/position.ts';
import type { PerLengthRecord } from '../stats.ts';

/** The first lengths usually need separate traces: this many are not reported. */
const firstLengths = 3;

/** Counts the traces that hold for one length of an array, by the code that depends on the length. */
export class LengthsTraced {
  readonly #found = new Map<string, { readonly record: PerLengthRecord; readonly count: number }>();

  /** Adds the records of a trace. Returns the code that was traced for more than the first lengths. */
  with(records: readonly PerLengthRecord[]): readonly PerLengthRecord[] {
    for (const { at, why } of records) {
      const key = at ? formatPosition(at) : '';
      const count = (this.#found.get(key)?.count ?? 0) + 1;
      // The first lengths may have different reasons.
      this.#found.set(key, { record: { ...(at && { at }), why }, count });
    }
    return this.#often;
  }

  get #often(): PerLengthRecord[] {
    return [...this.#found.values()].flatMap(({ record, count }) =>
      count > firstLengths ? [record] : [],
    );
  }

  /** Explains why new calls keep fitting none of many entries; undefined if lengths are not the reason. */
  get cause(): string | undefined {
    const [first] = this.#often;
    if (!first) return undefined;
    const at = first.at ? ` at ${formatPosition(first.at)}` : '';
    return `the code${at} is traced for each length of an array, since ${first.why}`;
  }
}
