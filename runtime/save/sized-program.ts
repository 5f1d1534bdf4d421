import type { Device } from '../device/device.ts';
import { DataError } from '../errors/errors.ts';
import type { PlannedSubgraph } from '../program/plan.ts';
import { RecentlyUsed } from '../program/recently-used.ts';
import { verifySubgraph } from '../program/verify/verify-plan.ts';
import type { predictedBytes } from '../run-program/simulate/predicted-bytes.ts';
import { Field } from './file/field.ts';
import { type PlanUse, readGraphs } from './graph-reader.ts';
import { LoadedEntry } from './loaded-entry.ts';
import { readEntry, type SavedEntry } from './saved-entry.ts';
import type { GuardMismatch } from './saved-guard.ts';
import {
  type CallValues,
  encodeSource,
  printSavedSource,
  readSource,
  type SavedSource,
  sourceReader,
} from './saved-source.ts';
import { withSizes } from './size-expr.ts';

/** A program for many sizes: graphs and an entry as in a file, with placeholders for numbers. */
export interface SavedSizes {
  /** The locations of the sizes in a call. */
  readonly places: readonly SavedSource[];
  /** Inclusive bounds; null for no upper bound. */
  readonly bounds: readonly (readonly [min: number, max: number | null])[];
  /** Sizes that are known to be valid. */
  readonly madeFor: readonly number[];
  readonly document: unknown;
}

export function encodeSizes({ places, ...rest }: SavedSizes): unknown {
  return { places: places.map(encodeSource), ...rest };
}

const safe = Number.MAX_SAFE_INTEGER;

/** The document is validated later, when it is filled with sizes. */
export function readSizes(field: Field, states: number): SavedSizes {
  const places = field.list('places', (item) => readSource(item, states));
  const bounds = field.list(
    'bounds',
    (pair) => {
      const [min, max] = pair.tuple(2);
      return [min.int(), max.isNull ? null : max.int()] as const;
    },
    places.length,
  );
  return {
    places,
    bounds,
    madeFor: field.list('madeFor', (size) => size.int(), places.length),
    document: field.get('document').value,
  };
}

interface Filled {
  readonly saved: SavedEntry;
  readonly planned: PlannedSubgraph | null;
}

/** Fills the document with sizes and validates it like the rest of a file. Throws DataError if it could not run. */
function fill(
  document: unknown,
  sizes: readonly number[],
  states: number,
  device: Device,
  plan: PlanUse,
): Filled {
  const filled = withSizes(new Field(document, `a program for sizes ${sizes.join(', ')}`), sizes);
  const graphs = readGraphs(filled.get('graphs'), device, plan);
  graphs.forEach(({ planned }, i) => {
    verifySubgraph(planned, `graph ${i} for sizes ${sizes.join(', ')}`);
  });
  const saved = readEntry(filled.get('entry'), states, graphs);
  return { saved, planned: saved.graph === null ? null : graphs[saved.graph]!.planned };
}

/** Whether the document is a valid program at these sizes. */
export function instantiates(document: unknown, sizes: readonly number[], device: Device): boolean {
  try {
    fill(document, sizes, safe, device, 'as saved');
    return true;
  } catch (error) {
    if (error instanceof DataError) return false;
    throw error;
  }
}

/**
 * The limit of estimated JavaScript memory of all sizes' programs; least recently used ones are dropped and rebuilt on
 * demand.
 */
const mostBytes = 64 * 2 ** 20;
/** The number of programs that are kept regardless of their memory. */
const fewest = 16;
/** The estimated bytes per op in a program, its plan and the kernels bound for it. */
const bytesPerOp = 5 * 2 ** 10;
const bytesPerEntry = 8 * 2 ** 10;

/** An entry; null if the document is invalid at these sizes. */
interface SizedEntry {
  readonly entry: LoadedEntry | null;
  readonly bytes: number;
}

/** The programs of a document, each built, verified and measured when its sizes first occur. */
export class LoadedSizes {
  readonly saved: SavedSizes;
  readonly #states: number;
  readonly #device: Device;
  readonly #plan: PlanUse;
  readonly #predict: typeof predictedBytes;
  readonly #readers: readonly ((values: CallValues) => unknown)[];
  readonly #entries = new RecentlyUsed<string, SizedEntry>(mostBytes, ({ bytes }) => bytes, fewest);
  /** The sizes of the last call. */
  readonly #last: unknown[];
  #lastEntry: LoadedEntry | undefined;

  /** Throws DataError if the document is not a valid program at the sizes it was made for. */
  constructor(
    saved: SavedSizes,
    states: number,
    device: Device,
    plan: PlanUse,
    predict: typeof predictedBytes,
  ) {
    this.#predict = predict;
    this.saved = saved;
    this.#states = states;
    this.#device = device;
    this.#plan = plan;
    this.#readers = saved.places.map(sourceReader);
    this.#last = saved.places.map(() => undefined);
    fill(saved.document, saved.madeFor, states, device, plan);
  }

  /** Returns undefined if a size is invalid or out of bounds. */
  entryFor(values: CallValues): LoadedEntry | undefined {
    if (this.#outside(values)) return undefined;
    if (this.#sizesChange(values)) {
      const sizes = [...this.#last] as number[];
      const { entry } = this.#entries.get(sizes.join(), () => this.#made(sizes));
      this.#lastEntry = entry ?? undefined;
    }
    return this.#lastEntry;
  }

  /** Reads the sizes; returns whether they differ from the last call's. */
  #sizesChange(values: CallValues): boolean {
    let changed = this.#last.length === 0;
    for (let i = 0; i < this.#readers.length; i++) {
      const size = this.#readers[i]!(values);
      if (size === this.#last[i]) continue;
      this.#last[i] = size;
      changed = true;
    }
    return changed;
  }

  #made(sizes: readonly number[]): SizedEntry {
    try {
      const { document } = this.saved;
      const { saved, planned } = fill(document, sizes, this.#states, this.#device, this.#plan);
      const predicted = planned && this.#predict(planned);
      const entry = new LoadedEntry(saved, planned, this.#device, predicted);
      const ops =
        (planned?.forward.steps.length ?? 0) + (planned?.backward?.plan.steps.length ?? 0);
      return { entry, bytes: bytesPerEntry + ops * bytesPerOp };
    } catch (error) {
      if (error instanceof DataError) return { entry: null, bytes: bytesPerEntry };
      throw error;
    }
  }

  /** Returns why no program of the document fits the call. */
  misfit(values: CallValues): GuardMismatch | undefined {
    const outside = this.#outside(values);
    if (outside) return outside;
    const entry = this.entryFor(values);
    if (entry) return entry.misfit(values);
    const sizes = this.saved.places.map((source, i) => {
      return `${printSavedSource(source, values.state)} is ${String(this.#readers[i]!(values))}`;
    });
    return { kind: 'shape', given: sizes.join(', '), expected: 'sizes that the program fits' };
  }

  #outside(values: CallValues): GuardMismatch | undefined {
    for (let i = 0; i < this.#readers.length; i++) {
      const size = this.#readers[i]!(values);
      const [min, max] = this.saved.bounds[i]!;
      const fits = typeof size === 'number' && Number.isSafeInteger(size) && size >= min;
      if (fits && (max === null || size <= max)) continue;
      const source = printSavedSource(this.saved.places[i]!, values.state);
      const expected = max === null ? `a size from ${min} on` : `a size from ${min} to ${max}`;
      return { kind: 'shape', given: `${source} is ${String(size)}`, expected };
    }
    return undefined;
  }
}
