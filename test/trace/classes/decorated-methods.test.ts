/** Decorated methods that call each other, and those of the class above through `super`. */

import { expect, it } from 'vitest';
import { type Tensor, tensor, toStatic } from '../../../src/index.ts';

/** Captures a method as TypeScript's legacy decorators do. */
function decorate(prototype: object, name: string): void {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name)!;
  Object.defineProperty(prototype, name, toStatic(prototype, name, descriptor));
}

class Scaler {
  readonly #by = 2;
  calls = 0;

  forward(x: Tensor): Tensor {
    this.calls++;
    return x.mul(this.#by);
  }
}

class Shifter extends Scaler {
  readonly #shift = 1;

  override forward(x: Tensor): Tensor {
    return super.forward(x).add(this.#shift);
  }

  step(x: Tensor): Tensor {
    return this.forward(x).relu().sum();
  }
}

it('a decorated method that uses super is part of the graph of its caller', () => {
  const x = tensor([1, -2, 3]);
  const expected = new Shifter().step(x).toArraySync();
  decorate(Scaler.prototype, 'forward');
  decorate(Shifter.prototype, 'forward');
  const step = toStatic(Shifter.prototype.step, { fullGraph: true });
  const shifter = new Shifter();
  expect(step.call(shifter, x).toArraySync()).toEqual(expected);
  expect(shifter.calls).toBe(1);
  expect(step.stats().breaks).toEqual([]);
});
