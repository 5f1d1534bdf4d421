import { AutogradError } from '../errors/errors.ts';
import type { BackwardPart } from '../program/plan.ts';
import type { ValueId } from '../program/program.ts';
import type { PartialBackward } from './partial-backward.ts';
import type { Partial, Partials } from './partials.ts';

/**
 * Which results of a run have been differentiated. Results that don't hang together are differentiated one by
 * one, as the graphs that they are eagerly: what the others need stays.
 */
export class OpenResults {
  readonly #backward: BackwardPart;
  readonly #partials: Partials;
  /** What backwards that didn't retain the graph have undone, of results that hang on nothing else. */
  readonly #undone = new Set<ValueId>();
  /** The backwards that may still come. */
  #open: readonly PartialBackward[] = [];

  constructor(backward: BackwardPart, partials: Partials) {
    this.#backward = backward;
    this.#partials = partials;
  }

  /** Throws AutogradError where an earlier backward has undone a part of this one. */
  expectOpen(part: Partial): void {
    if (this.#undone.size > 0 && !isApart(part.freeing.undone, this.#undone)) throw undoneTwice();
  }

  /** The form in which a backward runs, which may be the last that comes. */
  choose(part: Partial, retainGraph: boolean): PartialBackward {
    this.expectOpen(part);
    if (retainGraph) return part.retaining;
    this.#close(part);
    return this.#open.length > 0 ? part.retaining : part.freeing;
  }

  #close(part: Partial): void {
    if (part.isWhole && this.#undone.size === 0) {
      this.#open = [];
      return;
    }
    for (const id of part.freeing.undone) this.#undone.add(id);
    const given = [...this.#backward.gradOutputs.keys()].filter((i) => {
      return this.#backward.gradOutputs[i] !== null;
    });
    this.#open = given
      .map((i) => this.#partials.ofOutputs(new Set([i])).freeing)
      .filter((other) => isApart(other.undone, this.#undone));
  }

  /** Nothing of the run can be differentiated after this. */
  closeAll(): void {
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

export function undoneTwice(): AutogradError {
  return new AutogradError({
    what: 'backward through run_program a second time',
    given: 'a graph whose saved values were given back by an earlier backward',
    expected: 'a graph that was not yet differentiated',
    remedy: 'pass { retainGraph: true } to the first backward, or run the forward pass again',
  });
}

function isApart(a: ReadonlySet<ValueId>, b: ReadonlySet<ValueId>): boolean {
  for (const id of a) if (b.has(id)) return false;
  return true;
}
