import type { PlacedOffset, RandomSource } from '../../../runtime/random/seed.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { NumberExpr } from '../../guards/number-expr.ts';
import type { DeviceScalar, Variable } from '../variables/variable.ts';

/** The random number stream as the program sees it (`control-flow/numbers/random-stream.ts`). */
export interface RandomStream extends RandomSource {
  /** The furthest position so far, if known while tracing: the stream's position after a run. */
  readonly count: number;
  /** The stream's position as graph values. */
  readonly placed: PlacedOffset;
  /** The number of random numbers drawn, which may differ between branches or iterations. */
  position: Variable;
  /** The seed as a graph value, if a branch or loop may set it: `position` then counts from the start of its stream. */
  seedValue: DeviceScalar | null;
  /** Returns a function that moves the stream back to its current position. */
  mark(): () => void;
  /** Returns a function that restores the current state, as if nothing had been drawn since. */
  checkpoint(): () => void;
  /** Records that an op has drawn a data-dependent count of numbers. */
  moveBy(count: Tensor): void;
  /** The seed that the code has set; null for the run's own seed. */
  readonly reseeded: NumberExpr | null;
  seed(value: NumberExpr | DeviceScalar): void;
}
