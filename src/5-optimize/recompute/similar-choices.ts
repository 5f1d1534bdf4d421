import type { Candidate } from './choice.ts';

/** Measuring a candidate of a larger program takes tens of milliseconds: only these have stretches. */
const fewOps = 1500;
/** The number of choices from one end of a stretch to the other. */
const stride = 8;
/** Choices within a stretch need at most this much less than both of its ends, as a share. */
const tolerance = 0.15;

/**
 * Choices in the order of what they keep, each a little more than the one before, so that neighbours need about the
 * same bytes. Of a stretch whose ends both need much more than a limit, nothing else is measured.
 */
export class SimilarChoices {
  readonly #choices: readonly Candidate[];
  readonly #places = new Map<Candidate, number>();

  constructor(choices: readonly Candidate[], ops: number) {
    this.#choices = choices;
    if (ops <= fewOps) return;
    for (const [place, each] of choices.entries()) this.#places.set(each, place);
  }

  /** Whether the choice may need at most `bytes` beside the given ones; measures the ends of its stretch. */
  mayFit(choice: Candidate, bytes: number, beside: number): boolean {
    const place = this.#places.get(choice);
    if (place === undefined) return true;
    const start = place - (place % stride);
    const most = beside + (bytes - beside) / (1 - tolerance);
    const ends = [start, Math.min(start + stride, this.#choices.length - 1)];
    return ends.includes(place) || ends.some((end) => this.#choices[end]!.bytes <= most);
  }
}
