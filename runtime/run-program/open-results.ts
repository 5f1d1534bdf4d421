import type { AutogradError } from '../errors/errors.ts';
import type { BackwardPart } from '../program/plan.ts';
import type { ValueId } from '../program/program.ts';
import type { PartialBackward } from './partial-backward.ts';
import type { Partial, Partials } from './partials.ts';

/**
 * Which results of a run have been differentiated. Results without a common op are differentiated one by
 * one, as the separate graphs that they are eagerly: what the others need stays.
 */
export class OpenResults {
  readonly #backward: BackwardPart;
  readonly #partials: Partials;
  /** The ops that backwards without `retainGraph` have undone, by the gradient of their result. */
  readonly #undone = new Set<ValueId>();
  /** The backwards that may still come. */
  #open: readonly PartialBackward[] = [];
  /** Outputs of all backwards that didn't retain the graph. */
  readonly #closed = new Set<number>();
  readonly #refused: (outputs: readonly number[]) => AutogradError;

  /** `refused`: the error where a part of these outputs' backward is undone. */
  constructor(
    backward: BackwardPart,
    partials: Partials,
    refused: (outputs: readonly number[]) => AutogradError,
  ) {
    this.#backward = backward;
    this.#partials = partials;
    this.#refused = refused;
  }

  /** Throws AutogradError where an earlier backward has undone a part of this one. */
  expectOpen(part: Partial): void {
    if (this.#undone.size === 0 || isApart(part.freeing.undone, this.#undone)) return;
    throw this.#refused(part.outputs);
  }

  get closed(): readonly number[] {
    return [...this.#closed];
  }

  /** The form in which a backward runs, which may be the last that comes. */
  choose(part: Partial, retainGraph: boolean): PartialBackward {
    this.expectOpen(part);
    if (retainGraph) return part.retaining;
    this.#close(part);
    return this.#open.length > 0 ? part.retaining : part.freeing;
  }

  #close(part: Partial): void {
    for (const output of part.outputs) this.#closed.add(output);
    if (part.isWhole && this.#undone.size === 0) {
      this.#open = [];
      return;
    }
    for (const id of part.freeing.undone) this.#undone.add(id);
    this.#open = this.#given
      .map((i) => this.#partials.ofOutputs(new Set([i])).freeing)
      .filter((other) => isApart(other.undone, this.#undone));
  }

  /** Outputs that may have a gradient. */
  get #given(): number[] {
    const { gradOutputs } = this.#backward;
    return [...gradOutputs.keys()].filter((i) => gradOutputs[i] !== null);
  }

  /** Nothing of the run can be differentiated after this. */
  closeAll(): void {
    for (const output of this.#given) this.#closed.add(output);
    this.#open = [];
  }

  get allDone(): boolean {
    return this.#open.length === 0;
  }

  /** What the backwards read that may still come. */
  get needed(): ReadonlySet<ValueId> {
    const needed = new Set(
      this.#open.flatMap(({ plan }) => plan.steps.flatMap(({ op }) => op.inputs)),
    );
    for (const { plan } of this.#open) for (const id of plan.outputs) needed.add(id);
    return needed;
  }
}

function isApart(a: ReadonlySet<ValueId>, b: ReadonlySet<ValueId>): boolean {
  for (const id of a) if (b.has(id)) return false;
  return true;
}
