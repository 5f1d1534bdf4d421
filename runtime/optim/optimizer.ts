import { deviceGuard } from '../device/current.ts';
import { ArgumentError } from '../errors/errors.ts';
import { zeros } from '../ops/create.ts';
import { keep } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';

/**
 * Changes parameters in place by their gradients. State is made with the optimizer, not at the first
 * step, so that every step does the same work and a captured step needs no second program.
 */
export abstract class Optimizer {
  readonly parameters: readonly Tensor[];
  /** Learning rate; schedules assign to it between steps. */
  lr: number;

  constructor(parameters: Iterable<Tensor>, lr: number) {
    this.parameters = [...new Set(parameters)];
    this.lr = nonNegative('lr', lr);
    if (this.parameters.length === 0) {
      throw new ArgumentError({
        what: 'optimizer: nothing to optimize',
        given: 'no parameters',
        expected: 'at least one tensor that requires a gradient',
        remedy: 'pass model.parameters(), and wrap weights of your own modules in parameter(…)',
      });
    }
  }

  /** One update of every parameter that has a gradient. */
  abstract step(): void;

  /** Gives the gradients back; the next backward starts from none. */
  zeroGrad(): void {
    for (const tensor of this.parameters) {
      tensor.grad?.dispose();
      tensor.grad = null;
    }
  }

  /** Gives back the state, not the parameters. */
  dispose(): void {}

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** One tensor of zeros per parameter, on its device, kept until `dispose`. */
export function zerosFor(parameters: readonly Tensor[]): Tensor[] {
  return parameters.map((tensor) =>
    keep(deviceGuard(tensor.device, () => zeros(tensor.shape, { dtype: tensor.dtype }))),
  );
}

export function nonNegative(name: string, value: number): number {
  if (value >= 0) return value;
  throw new ArgumentError({
    what: `optimizer: ${name} out of range`,
    given: `${name} = ${value}`,
    expected: 'a number, 0 or more',
    remedy: `pass a non-negative ${name}`,
  });
}

/** A decay rate of a moving average. */
export function fraction(name: string, value: number): number {
  if (value >= 0 && value < 1) return value;
  throw new ArgumentError({
    what: `optimizer: ${name} out of range`,
    given: `${name} = ${value}`,
    expected: '0 ≤ value < 1',
    remedy: `pass a ${name} such as 0.9`,
  });
}
