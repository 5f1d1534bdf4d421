import type { AutogradError } from '../errors/errors.ts';
import type { BackwardPart } from '../program/plan.ts';
import type { ValueId } from '../program/program.ts';
import type { PartialBackward } from './partial-backward.ts';
import type { Partial } from './partials.ts';

/**
 * Tracks which results of a run have been differentiated, and for which gradients. Paths without a common op are
 * differentiated one by one, as the separate graphs that they are eagerly: what the others need stays.
 */
export class OpenResults {
  readonly #backward: BackwardPart;
  /** The ops that backwards without `retainGraph` have differentiated, by the gradient of their result. */
  readonly #differentiated = new Set<ValueId>();
  /** The values that later backwards may read; null if none can come. */
  #needed: ReadonlySet<ValueId> | null = null;
  /** All backwards that didn't retain the graph. */
  readonly #closed: ClosedResults[] = [];
  readonly #refused: (part: ClosedResults) => AutogradError;

  /** `refused`: the error where a part of this backward has run already. */
  constructor(backward: BackwardPart, refused: (part: ClosedResults) => AutogradError) {
    this.#backward = backward;
    this.#refused = refused;
  }

  /**
   * Throws AutogradError where an earlier backward has run a part of this one. `outputs`: in the order in which they
   * were reached.
   */
  expectOpen(part: Partial, outputs: Iterable<number> = part.outputs): void {
    const done = this.#differentiated;
    if (done.size === 0 || isApart(part.freeing.differentiated, done)) return;
    throw this.#refused({ outputs: [...outputs], wanted: part.wanted });
  }

  get closed(): readonly ClosedResults[] {
    return this.#closed;
  }

  /** The form in which a backward runs, which may be the last that comes. */
  choose(part: Partial, retainGraph: boolean): PartialBackward {
    this.expectOpen(part);
    if (retainGraph) return part.retaining;
    this.#close(part);
    return this.#needed ? part.retaining : part.freeing;
  }

  #close(part: Partial): void {
    this.#closed.push(part);
    if (part.isWhole && this.#differentiated.size === 0) {
      this.#needed = null;
      return;
    }
    for (const id of part.freeing.differentiated) this.#differentiated.add(id);
    this.#needed = this.#readsOfOpen();
  }

  /**
   * In eager execution an op keeps its saved values until its backward runs. Ops to which only such ops lead keep
   * none: no backward reaches them.
   */
  #readsOfOpen(): ReadonlySet<ValueId> | null {
    const { gradOutputs, gradInputs, retainingPlan } = this.#backward;
    const isOpen = (id: ValueId | null): id is ValueId =>
      id !== null && !this.#differentiated.has(id);
    const open = new Set(gradOutputs.filter(isOpen));
    const isReached = retainingPlan.steps.map(({ op }) => {
      if (!op.inputs.some((id) => open.has(id))) return false;
      const outputs = op.outputs.filter(isOpen);
      for (const id of outputs) open.add(id);
      return outputs.length > 0;
    });
    // A gradient of an output may be that of an input.
    if (!isReached.includes(true) && !gradInputs.some((id) => id !== null && open.has(id)))
      return null;
    const needed = new Set(retainingPlan.outputs);
    retainingPlan.steps.forEach(({ op }, i) => {
      if (isReached[i]) for (const id of op.inputs) needed.add(id);
    });
    // Values that backward computes from saved ones alone.
    for (const { op } of retainingPlan.steps.toReversed()) {
      if (op.outputs.some((id) => needed.has(id) && !open.has(id)))
        for (const id of op.inputs) needed.add(id);
    }
    return needed;
  }

  /** Nothing of the run can be differentiated after this. */
  closeAll(): void {
    const { gradOutputs } = this.#backward;
    const outputs = [...gradOutputs.keys()].filter((i) => gradOutputs[i] !== null);
    this.#closed.push({ outputs, wanted: null });
    this.#needed = null;
  }

  get allDone(): boolean {
    return this.#needed === null;
  }

  /** The values that later backwards may read. */
  get needed(): ReadonlySet<ValueId> {
    return this.#needed ?? new Set();
  }
}

/** The outputs of a backward, and what was requested of it. */
type ClosedResults = Pick<Partial, 'outputs' | 'wanted'>;

function isApart(a: ReadonlySet<ValueId>, b: ReadonlySet<ValueId>): boolean {
  for (const id of a) if (b.has(id)) return false;
  return true;
}
