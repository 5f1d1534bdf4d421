import { type Tensor, tidy } from '../../src/index.ts';

/** One work with its own data. */
export interface Work {
  /** Runs one step; the caller owns the result. */
  readonly step: () => Tensor | undefined;
  /** A checksum of everything that the steps so far have computed. */
  readonly checksum: () => number;
  /** For a training step: the tensors it reads, followed by the parameters. */
  readonly tensors?: readonly Tensor[];
}

export interface WorkDefinition {
  readonly name: string;
  readonly title: string;
  /** The number of ops in one step, if the time per op is reported. */
  readonly ops?: number;
  /** The number of steps per reported time; 1 by default. */
  readonly repeat?: number;
  readonly make: () => Work;
}

/** The sum of all elements. */
export function sumOf(tensors: readonly Tensor[]): number {
  return tidy(() => tensors.reduce((sum, each) => sum + (each.sum().itemSync() as number), 0));
}
