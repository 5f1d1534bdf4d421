import { type Tensor, tidy } from '../../src/index.ts';

/** One work with data of its own. */
export interface Work {
  /** Runs one step; the result is the caller's. */
  readonly step: () => Tensor | undefined;
  /** Of everything that the steps so far have computed. */
  readonly checksum: () => number;
  /** Of a training step: what it reads, and then the parameters. */
  readonly tensors?: readonly Tensor[];
}

export interface WorkDefinition {
  readonly name: string;
  readonly title: string;
  /** Ops of one step, where the time of one op is what counts. */
  readonly ops?: number;
  /** Steps that one time is given for; 1 by default. */
  readonly repeat?: number;
  readonly make: () => Work;
}

/** The sum of all elements. */
export function sumOf(tensors: readonly Tensor[]): number {
  return tidy(() => tensors.reduce((sum, each) => sum + (each.sum().itemSync() as number), 0));
}
