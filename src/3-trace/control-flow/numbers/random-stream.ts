import { invariant } from '../../../../runtime/errors/invariant.ts';
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
 * tracing. If a branch or loop calls `seed()`, it is relative to the start of the stream of `seed`.
 */
interface StreamPosition {
  readonly seed: DeviceScalar | null;
  readonly origin: StreamOrigin;
  readonly base: DeviceScalar | null;
  readonly drawn: number;
}

/**
 * The random number stream as a program sees it: positions are relative to the stream's position when a run begins.
 * Every run thus draws new numbers, as eager execution does. Recomputing in backward draws the same numbers again,
 * since both programs of a run share its scalar inputs.
 *
 * In and after branches and loops that draw numbers, the count drawn so far is a device scalar, which is merged
 * and carried like any other value.
 */
export class RelativeStream implements RandomSource {
  readonly #tracer: Tracer;
  #own: StreamPosition = { seed: null, origin: runBegins, base: null, drawn: 0 };
  /** The furthest position so far, if it is known while tracing: the stream's position after a run. */
  count = 0;
  /** The seed that the code has set, from which `count` counts; null for the run's own stream. */
  reseeded: NumberExpr | null = null;
  /** The origin as graph values. */
  #start: readonly Tensor[] | null = null;

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  /** If a branch or loop calls `seed()`, seed and position are graph values from the start of the program. */
  get #at(): StreamPosition {
    const t = this.#tracer;
    if (this.#own.seed || !t.control.plans.seedsInside) return this.#own;
    const [seed, base] = this.#startOf(runBegins).map((tensor) => scalarOf(tensor));
    this.#moveTo({ seed: seed!, origin: runBegins, base: base!, drawn: 0 });
    return this.#own;
  }

  take(count: number): RandomState {
    const state = this.state();
    const { drawn } = this.#at;
    this.#moveTo({ ...this.#at, drawn: drawn + count });
    return state;
  }

  state(): RandomState {
    const { seed, origin, base, drawn } = this.#at;
    const t = this.#tracer;
    const state =
      seed || base || t.isInRegion
        ? ({ seed: 0, offset: this.placed } as unknown as RandomState)
        : placeBehind(t.numbers, origin, drawn);
    positions.set(state, this.#at);
    return state;
  }

  goTo(state: RandomState): void {
    this.#moveTo(positions.get(state)!);
  }

  mark(): () => void {
    const at = this.#own;
    return () => this.#moveTo(at);
  }

  checkpoint(): () => void {
    const [own, count, reseeded, start] = [this.#own, this.count, this.reseeded, this.#start];
    return () => {
      this.#own = own;
      this.count = count;
      this.reseeded = reseeded;
      this.#start = start;
    };
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
    const at = this.#at;
    this.#moveTo(
      position.kind === 'scalar'
        ? { ...at, base: position, drawn: 0 }
        : { ...at, base: null, drawn: (position as { readonly value: number }).value },
    );
  }

  /** The seed, if a branch or loop may set it. */
  get seedValue(): DeviceScalar | null {
    return this.#at.seed;
  }

  set seedValue(seed: DeviceScalar | null) {
    this.#moveTo({ ...this.#at, seed });
  }

  /** The current position, as graph values. */
  get placed(): PlacedOffset {
    const { seed, origin, base, drawn } = this.#at;
    const t = this.#tracer;
    // The distance that the stream moves depends on sizes.
    t.sizes.fixed = true;
    const numbers = withRandomSource(null, () => [
      ...(seed ? [asNumber(t, seed)] : this.#startOf(origin)),
      ...(base ? [asNumber(t, base)] : []),
    ]);
    return new PlacedOffset(numbers, drawn);
  }

  /** `seed(value)`: positions are now relative to the start of another stream. */
  seed(value: NumberExpr | DeviceScalar): void {
    const t = this.#tracer;
    const { reseeded } = this;
    const start = this.#start;
    t.journal.note(() => {
      this.reseeded = reseeded;
      this.#start = start;
    });
    // Replays for other sizes count from the start of the run.
    t.sizes.fixed = true;
    if (this.#at.seed) {
      const seed =
        value.kind === 'scalar'
          ? value
          : withRandomSource(null, () => scalarOf(numberTensor(t, value, t.device)));
      this.#moveTo({ seed, origin: runBegins, base: null, drawn: 0 });
      return;
    }
    invariant(value.kind !== 'scalar', 'a seed that is read is a graph value');
    this.reseeded = value;
    this.#start = null;
    const origin: StreamOrigin = [value, { kind: 'constant', value: 0 }];
    this.#moveTo({ seed: null, origin, base: null, drawn: 0 });
    this.count = 0;
  }

  moveBy(count: Tensor): void {
    this.position = scalarBinary(this.#tracer, '+', scalarOf(count), this.position)!;
  }

  #startOf(origin: StreamOrigin): readonly Tensor[] {
    const t = this.#tracer;
    if (!this.#start) {
      t.journal.note(() => {
        this.#start = null;
      });
      this.#start = withRandomSource(null, () =>
        t.inRoot(() => origin.map((expr) => numberTensor(t, expr, t.device))),
      );
    }
    return this.#start;
  }

  #moveTo(to: StreamPosition): void {
    const [before, { count }] = [this.#own, this];
    this.#tracer.journal.note(() => {
      this.#own = before;
      this.count = count;
    });
    this.#own = to;
    this.count = to.base ? 0 : Math.max(count, to.drawn);
  }
}

const scalarOf = (tensor: Tensor): DeviceScalar => ({ kind: 'scalar', type: 'number', tensor });

const positions = new WeakMap<RandomState, StreamPosition>();
