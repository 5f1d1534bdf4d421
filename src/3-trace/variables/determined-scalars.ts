import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { NumberExpr } from '../../guards/number-expr.ts';

/** Device scalars whose values constants and sizes determine, so that the trace knows them before a run does. */
export class DeterminedScalars {
  readonly #exprs = new WeakMap<Tensor, NumberExpr>();
  readonly #outerOf: (scalar: Tensor) => Tensor | undefined;

  /** `outerOf`: returns the value of the surrounding program that a region has captured as this tensor. */
  constructor(outerOf: (scalar: Tensor) => Tensor | undefined) {
    this.#outerOf = outerOf;
  }

  note(scalar: Tensor, expr: NumberExpr): void {
    this.#exprs.set(scalar, expr);
  }

  /** Returns undefined if only a run knows the value. */
  of(scalar: Tensor): NumberExpr | undefined {
    for (let at: Tensor | undefined = scalar; at; at = this.#outerOf(at)) {
      const expr = this.#exprs.get(at);
      if (expr) return expr;
    }
    return undefined;
  }
}
