import {
  PlacedOffset,
  type RandomSource,
  type RandomState,
  withRandomSource,
} from '../../../../runtime/random/seed.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import type { NumberExpr } from '../../../guards/number-expr.ts';
import { placeBehind, runBegins, type StreamOrigin } from '../../inputs/counted-stream.ts';
import type { Tracer } from '../../state/tracer.ts';
import { type DeviceScalar, known, type Variable } from '../../variables/variable.ts';
import { asNumber, numberTensor, scalarBinary } from './scalars.ts';

/**
 * A position in the stream, relative to `origin`: `base` numbers drawn by the program, plus `drawn` known while
 * tracing.
 */
interface StreamPosition {
  readonly origin: StreamOrigin;
  readonly base: DeviceScalar | null;
  readonly drawn: number;
}

/**
 * The random number stream as a program sees it: positions are relative to the stream's position when a run
 * begins. Every run thus draws new numbers, the same as eager execution would. Recomputation in backward draws the
 * same numbers again, since both programs of a run share its scalar inputs.
 *
 * In and after branches and loops that draw numbers, the count drawn so far is a device scalar, which is merged
 * and carried like any other value.
 */
export class RelativeStream implements RandomSource {
  readonly #tracer: Tracer;
  #at: StreamPosition = { origin: runBegins, base: null, drawn: 0 };
  /** The furthest position so far, if it is known while tracing: the stream's position after a run. */
  count = 0;
  /** The seed that the code has set, from which `count` counts; null for the run's own stream. */
  reseeded: NumberExpr | null = null;
  /** The origin as graph values. */
  #start: readonly Tensor[] | null = null;

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  take(count: number): RandomState {
    const state = this.state();
    const { drawn } = this.#at;
    this.#moveTo({ ...this.#at, drawn: drawn + count });
    return state;
  }

  state(): RandomState {
    const { origin, base, drawn } = this.#at;
    const t = this.#tracer;
    const state =
      base || t.isInRegion
        ? ({ seed: 0, offset: this.placed } as unknown as RandomState)
        : placeBehind(t.numbers, origin, drawn);
    positions.set(state, this.#at);
    return state;
  }

  goTo(state: RandomState): void {
    this.#moveTo(positions.get(state)!);
  }

  /** The count of drawn numbers, which may differ between branches or iterations. */
  get position(): Variable {
    const { base, drawn } = this.#at;
    if (!base) return known(drawn);
    if (drawn === 0) return base;
    const sum = scalarBinary(this.#tracer, '+', base, known(drawn)) as DeviceScalar;
    this.position = sum;
    return sum;
  }

  set position(position: Variable) {
    const { origin } = this.#at;
    this.#moveTo(
      position.kind === 'scalar'
        ? { origin, base: position, drawn: 0 }
        : { origin, base: null, drawn: (position as { readonly value: number }).value },
    );
  }

  /** The current position, as graph values. */
  get placed(): PlacedOffset {
    const { base, drawn } = this.#at;
    const t = this.#tracer;
    // The distance that the stream moves depends on sizes.
    t.sizes.fixed = true;
    const numbers = withRandomSource(null, () => [
      ...this.#startOf(),
      ...(base ? [asNumber(t, base)] : []),
    ]);
    return new PlacedOffset(numbers, drawn);
  }

  /** `seed(value)`: positions are now relative to the start of another stream. */
  seed(value: NumberExpr): void {
    const t = this.#tracer;
    const { reseeded } = this;
    const start = this.#start;
    t.journal.note(() => {
      this.reseeded = reseeded;
      this.#start = start;
    });
    // Replays for other sizes count from the run's start.
    t.sizes.fixed = true;
    this.reseeded = value;
    this.#start = null;
    this.#moveTo({ origin: [value, { kind: 'constant', value: 0 }], base: null, drawn: 0 });
    this.count = 0;
  }

  /** Records that an op has drawn a data-dependent count of numbers. */
  moveBy(count: Tensor): void {
    const drawn: DeviceScalar = { kind: 'scalar', type: 'number', tensor: count };
    this.position = scalarBinary(this.#tracer, '+', drawn, this.position)!;
  }

  #startOf(): readonly Tensor[] {
    const t = this.#tracer;
    if (!this.#start) {
      t.journal.note(() => {
        this.#start = null;
      });
      this.#start = t.inRoot(() => this.#at.origin.map((expr) => numberTensor(t, expr, t.device)));
    }
    return this.#start;
  }

  #moveTo(to: StreamPosition): void {
    const [before, { count }] = [this.#at, this];
    this.#tracer.journal.note(() => {
      this.#at = before;
      this.count = count;
    });
    this.#at = to;
    this.count = to.base ? 0 : Math.max(count, to.drawn);
  }
}

const positions = new WeakMap<RandomState, StreamPosition>();
