import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';
import type { Holder } from '../../../runtime/device/holder.ts';
import { alignedBytes } from '../../../runtime/memory/allocator.ts';
import type { PlannedSubgraph } from '../../../runtime/program/plan.ts';
import type { ValueId } from '../../../runtime/program/program.ts';
import { savedViews } from '../../5-optimize/compact-views.ts';
import type { SubgraphStages } from '../../programs/stages.ts';

/** An input of a subgraph whose memory its backward keeps through views, but could keep copies of instead. */
export interface SavedInput {
  readonly number: number;
  /** The views to copy. */
  readonly views: readonly ValueId[];
  /** Bytes of the copies. */
  readonly bytes: number;
  /** The number of saved values that view its memory. */
  readonly owners: number;
}

/** A subgraph that can copy views in later runs. */
export interface CopiesViews {
  /** The variant that ran last. */
  readonly last: { readonly planned: PlannedSubgraph };
  /** Inputs that its backward keeps, but could keep copies of. */
  readonly lastSavedInputs: readonly SavedInput[];
  copyViews(views: readonly ValueId[]): void;
}

/** Returns the inputs that backward could keep copies of instead. */
export function savedInputsOf(stages: SubgraphStages): readonly SavedInput[] {
  const { joint, forward, planned, original } = stages;
  if (!joint || !planned.backward) return none;
  const { withData } = planned.backward.saved;
  return savedViews(joint, withData, forward.outputs).flatMap(({ root, views, ...rest }) => {
    const number = forward.inputs.indexOf(root);
    const isCopy = planned.compacted?.some((each) => each.entersAsCopy && each.number === number);
    if (number < 0 || isCopy) return [];
    return [{ ...rest, number, views: views.map((id) => original?.[id] ?? id) }];
  });
}

const none: readonly SavedInput[] = [];

/** The views of one memory that backward keeps, and the bytes of their copies. */
interface Kept {
  bytes: number;
  owners: number;
  /** The index of the last run that read it. */
  last: number;
  readonly views: {
    readonly run: number;
    readonly subgraph: CopiesViews;
    readonly saved: SavedInput;
  }[];
}

/**
 * Memory that a call created and that its subgraphs keep views of for backward. After the call, these views may be its
 * only owners: if copies of them are smaller, later calls keep copies, unless that raises a peak, since the original
 * exists while a copy is made.
 */
export class SavedMemory {
  /** Created with the first memory: most calls keep none. */
  #kept: Map<Holder, Kept> | undefined;
  /** Peak bytes allocated during each run. */
  readonly #peaks: number[] = [];
  #lastBackward = 0;

  /** Called after a subgraph has run with this peak; its backward will need `backward` bytes. */
  noteRun(peak: number, backward: number): void {
    this.#peaks.push(peak);
    this.#lastBackward = backward;
  }

  /** Records that the last run keeps the memory. */
  note(holder: Holder, subgraph: CopiesViews, saved: SavedInput): void {
    this.#kept ??= new Map();
    const kept = getOrInsert(this.#kept, holder, () => ({
      bytes: 0,
      owners: 0,
      last: 0,
      views: [],
    }));
    const run = this.#peaks.length - 1;
    kept.bytes += saved.bytes;
    kept.owners += saved.owners;
    kept.last = run;
    kept.views.push({ run, subgraph, saved });
  }

  /** Called when the call has ended and its registers are empty. */
  settle(): void {
    if (this.#kept) this.#copySmaller(this.#kept);
    this.#kept = undefined;
    this.#peaks.length = 0;
  }

  #copySmaller(all: ReadonlyMap<Holder, Kept>): void {
    const smaller = [...all].filter(
      ([holder, { bytes, owners }]) =>
        holder.owners === owners && bytes < alignedBytes(holder.bytes),
    );
    if (smaller.length > 0 && this.#raisesNoPeak(smaller)) {
      const copied = new Map<CopiesViews, ValueId[]>();
      for (const [, { views }] of smaller) {
        for (const { subgraph, saved } of views) {
          getOrInsert(copied, subgraph, () => []).push(...saved.views);
        }
      }
      for (const [subgraph, views] of copied) subgraph.copyViews(views);
    }
  }

  /** The step's peak is the peak of a run, or is reached in the last subgraph's backward, with everything kept. */
  #raisesNoPeak(smaller: readonly (readonly [Holder, Kept])[]): boolean {
    const { allocated } = smaller[0]![0].device.allocator.counter;
    const peak = this.#peaks.reduce((a, b) => Math.max(a, b), allocated + this.#lastBackward);
    const difference = new Array<number>(this.#peaks.length + 1).fill(0);
    for (const [holder, { last, views }] of smaller) {
      for (const { run, saved } of views) difference[run]! += saved.bytes;
      difference[last + 1]! -= alignedBytes(holder.bytes);
    }
    let more = 0;
    return this.#peaks.every((each, run) => {
      more += difference[run]!;
      return each + more <= peak;
    });
  }
}
