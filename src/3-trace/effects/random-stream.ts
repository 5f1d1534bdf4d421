import type { PlacedOffset, RandomSource } from '../../../runtime/random/seed.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { NumberExpr } from '../../guards/number-expr.ts';
import type { Variable } from '../variables/variable.ts';

/** The stream of random numbers as the program sees it (`control-flow/numbers/random-stream.ts`). */
export interface RandomStream extends RandomSource {
  /** The furthest offset so far, as long as the trace counts: where the stream stands after a run. */
  readonly count: number;
  /** Where the stream stands, as values of the program. */
  readonly placed: PlacedOffset;
  /** How many numbers have been drawn: branches and iterations may leave different counts. */
  position: Variable;
  /** An op has drawn this many numbers, a value of the program. */
  moveBy(count: Tensor): void;
  /** The seed that the code has set, null for that of the run. */
  readonly reseeded: NumberExpr | null;
  seed(value: NumberExpr): void;
}
