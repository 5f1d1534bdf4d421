/** `instanceof` that a class of the user defines, and errors of several errors, in branches and loops. */

import { describe, it } from 'vitest';
import { type Tensor, tensor } from '../../../src/index.ts';
import { positive, sameAsEager } from '../suite.ts';

const inputs = [() => [tensor([1, 2])], () => [tensor([-3, 1])]];

interface Sized {
  readonly size?: number;
}

/** Counts what is large. */
class Large {
  static [Symbol.hasInstance](value: Sized): boolean {
    return (value.size ?? 0) > 3;
  }
}

class Truthy {
  static [Symbol.hasInstance](value: Sized): number {
    return value.size ?? 0;
  }
}

/** Says nothing itself. */
class Larger extends Large {}

const told = { [Symbol.hasInstance]: (value: Sized) => value.size === 4 };

/** Decided by a tensor. */
class Positive {
  static [Symbol.hasInstance](value: { readonly x: Tensor }): boolean {
    return value.x.sum().itemSync() > 0;
  }
}

describe('instanceof of the user', () => {
  it.each<[string, unknown]>([
    ['a static method', Large],
    ['a number in place of a boolean', Truthy],
    ['a method of the class above', Larger],
    ['a method of an object', told],
  ])('%s', (_, type) => {
    const is = (value: unknown): boolean => (value as Sized) instanceof (type as typeof Large);
    sameAsEager((x: Tensor) => {
      const known = [{ size: 4 }, {}, [1], new Map([[1, 1]])].map(is);
      const sized = { size: positive(x) ? 4 : 0 };
      if (positive(x)) return [x.mul(is({ size: 4 }) ? 2 : 3), known];
      return [x.mul(is({ size: 2 }) ? 4 : 5), known, sized];
    }, inputs);
  });

  it('of a class that is made inside', () => {
    sameAsEager((x: Tensor) => {
      class Own {
        static [Symbol.hasInstance](value: Sized): boolean {
          return value.size === 2;
        }
      }
      const [a, b] = [{ size: 2 } instanceof Own, { size: 3 } instanceof Own];
      return [x.mul(a ? 2 : 3), x.mul(b ? 5 : 7)];
    }, inputs);
  });

  it('by a tensor, which decides in the program', () => {
    sameAsEager((x: Tensor) => ({ x }) instanceof Positive ? x.mul(2) : [x.mul(3)], inputs);
  });
});

describe('an AggregateError', () => {
  const errorsOf = (error: unknown) => {
    const { name, message, errors, cause } = error as AggregateError;
    return [
      name,
      message,
      errors.map((own: Error) => own.message),
      cause,
      Object.keys(error as object),
    ];
  };

  it('that is caught', () => {
    sameAsEager((x: Tensor) => {
      try {
        const errors = new Set([new RangeError('a'), new TypeError('b')]);
        throw new AggregateError(errors, 'both', { cause: 'a test' });
      } catch (error) {
        return [x.mul((error as AggregateError).errors.length), errorsOf(error)];
      }
    }, inputs);
  });

  it('that is thrown and caught on one path', () => {
    sameAsEager((x: Tensor) => {
      try {
        if (positive(x)) throw new AggregateError([new Error('a')]);
        return x;
      } catch (error) {
        return [x.mul(2), errorsOf(error), error instanceof Error];
      }
    }, inputs);
  });

  it('that is returned', () => {
    sameAsEager((x: Tensor) => {
      const error = new AggregateError([new Error('a'), x.mul(2)], 'with a tensor');
      return [x.mul(3), error.errors[1], error.message, Object.keys(error)];
    }, inputs);
    sameAsEager((x: Tensor) => {
      const error = AggregateError([1, 2], 'called');
      return positive(x) ? { error, x: x.mul(2) } : error;
    }, inputs);
  });
});
