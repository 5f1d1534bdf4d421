import type { ArithmeticTarget, GradientArithmetic, TargetValue } from '../target/target.ts';
import type { Slot } from './slots.ts';

/** A gradient that may not exist; its value is then zeros and `exists` false. */
export interface Gradient<V> {
  readonly value: V;
  /** A boolean []. */
  readonly exists: V;
}

type Type<V extends TargetValue> = Pick<V, 'element' | 'shape'>;

/** Arithmetic on gradients that may not exist. */
export class Gradients<V extends TargetValue> {
  readonly #engine: ArithmeticTarget<V>;
  readonly #arithmetic: GradientArithmetic<V>;

  constructor(engine: ArithmeticTarget<V>, arithmetic: GradientArithmetic<V>) {
    this.#engine = engine;
    this.#arithmetic = arithmetic;
  }

  of(slot: Pick<Slot<V>, 'read' | 'exists'>): Gradient<V> {
    return { value: slot.read(), exists: slot.exists ?? this.#engine.constant(1, 'i1') };
  }

  missing(type: Type<V>): Gradient<V> {
    return { value: this.#arithmetic.filled(type, 0), exists: this.#engine.constant(0, 'i1') };
  }

  sum(x: Gradient<V>, y: Gradient<V>): Gradient<V> {
    const value = this.#engine.binary('add', x.value, y.value);
    return { value, exists: this.#arithmetic.or(x.exists, y.exists) };
  }

  chosen(test: V, x: Gradient<V>, y: Gradient<V>): Gradient<V> {
    return {
      value: this.#engine.select(test, x.value, y.value),
      exists: this.#engine.select(test, x.exists, y.exists),
    };
  }
}

/** Values and existence in one list, for a branch or loop. */
export const flat = <V>(gradients: readonly Gradient<V>[]): V[] =>
  gradients.flatMap(({ value, exists }) => [value, exists]);

export const paired = <V>(values: readonly V[]): Gradient<V>[] =>
  Array.from({ length: values.length / 2 }, (_, i) => ({
    value: values[2 * i]!,
    exists: values[2 * i + 1]!,
  }));
