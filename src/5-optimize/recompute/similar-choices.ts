import type { Candidate } from './choice.ts';

/** Measuring a candidate of a larger program takes tens of milliseconds: only there are stretches used. */
const fewOps = 1500;
/** The number of choices from one end of a stretch to the other. */
const stride = 8;
/** Choices within a stretch need at most this share less than both of its ends. */
const tolerance = 0.15;

/**
 * Choices in the order of what they keep, each slightly more than the previous one, so that neighbors need about the
 * same bytes. If both ends of a stretch of choices need much more than a limit, nothing inside it is measured.
 */
export class SimilarChoices {
  readonly #choices: readonly Candidate[];
  readonly #places = new Map<Candidate, number>();

  constructor(choices: readonly Candidate[], ops: number) {
    this.#choices = choices;
    if (ops <= fewOps) return;
    for (const [position, each] of choices.entries()) this.#places.set(each, position);
  }

  /** Whether the choice may need at most `bytes` besides `beside`; measures the ends of its stretch. */
  mayFit(choice: Candidate, bytes: number, beside: number): boolean {
    const position = this.#places.get(choice);
    if (position === undefined) return true;
    const start = position - (position % stride);
    const most = beside + (bytes - beside) / (1 - tolerance);
    const ends = [start, Math.min(start + stride, this.#choices.length - 1)];
    return ends.includes(position) || ends.some((end) => this.#choices[end]!.bytes <= most);
  }
}
