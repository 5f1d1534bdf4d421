/** Choices from one seed: the same seed makes the same case on every machine. */
export class Choices {
  #state: number;

  constructor(seed: number) {
    this.#state = (Math.imul(seed + 1, 0x9e3779b1) >>> 0) % 2147483646;
    // Neighbouring seeds start far apart.
    for (let i = 0; i < 4; i++) this.#next();
  }

  /** An integer from 0 to below `bound`. */
  below(bound: number): number {
    return this.#next() % bound;
  }

  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  /** True in `share` of the cases. */
  chance(share: number): boolean {
    return this.below(1000) < share * 1000;
  }

  /** Park and Miller's generator; its state is never 0. */
  #next(): number {
    this.#state = ((this.#state + 1) * 48271) % 2147483647;
    return this.#state;
  }
}
