/** What check mode has done for one captured function. */
export class CheckCounter {
  /** How many runs of each subgraph are checked; 0: none. */
  readonly wanted: number;
  /** Runs that were checked, and backwards. */
  runs = 0;
  backwards = 0;

  constructor(wanted: number) {
    this.wanted = wanted;
  }
}

/** Checks are off. */
export const noChecks = new CheckCounter(0);
