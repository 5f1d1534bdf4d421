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

/** A position in the stream: counted from `origin`, by the program up to `base`, from there on by the trace. */
interface StreamPosition {
  readonly origin: StreamOrigin;
  readonly base: DeviceScalar | null;
  readonly drawn: number;
}

/**
 * The stream of random numbers as a program sees it: positions count from where the stream stands when a
 * run begins. So every run draws other numbers, those that eager execution would draw; what backward
 * computes again draws the same ones, since both programs of a run share its scalar inputs.
 *
 * In branches and loops, and behind those that draw, how many numbers were drawn before is a value of the
 * program, merged and carried like any other.
 */
export class RelativeStream implements RandomSource {
  readonly #tracer: Tracer;
  #at: StreamPosition = { origin: runBegins, base: null, drawn: 0 };
  /** The furthest position so far, as long as the trace counts: where the stream stands after a run. */
  count = 0;
  /** The seed that the code has set, of the stream that `count` counts in; null: that of the run. */
  reseeded: NumberExpr | null = null;
  /** The origin as values of the program. */
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

  /** How many numbers were drawn: what branches and iterations may leave different. */
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

  /** Where it stands, as values of the program. */
  get placed(): PlacedOffset {
    const { base, drawn } = this.#at;
    const t = this.#tracer;
    // How far the stream moves depends on the sizes.
    t.sizes.fixed = true;
    const numbers = withRandomSource(null, () => [
      ...this.#startOf(),
      ...(base ? [asNumber(t, base)] : []),
    ]);
    return new PlacedOffset(numbers, drawn);
  }

  /** `seed(value)`: from here on positions count from the beginning of another stream. */
  seed(value: NumberExpr): void {
    const t = this.#tracer;
    const { reseeded } = this;
    const start = this.#start;
    t.journal.note(() => {
      this.reseeded = reseeded;
      this.#start = start;
    });
    // Other sizes are counted from where a run begins.
    t.sizes.fixed = true;
    this.reseeded = value;
    this.#start = null;
    this.#moveTo({ origin: [value, { kind: 'constant', value: 0 }], base: null, drawn: 0 });
    this.count = 0;
  }

  /** An op has drawn so many numbers: a value of the program. */
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
