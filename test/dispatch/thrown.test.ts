import { describe, expect, test } from 'vitest';
import { ones, type Tensor, toStatic } from '../../src/index.ts';
import { expectPlaces } from './stack-places.ts';

/** What only a run knows: graphs end here, and what follows runs natively. */
const broken = (): number => (Date.now() > 0 ? 0 : 1);

function check(x: Tensor, limit: number): void {
  if (x.sum().itemSync() > limit) throw new RangeError('too large'); // thrown
}

function runs(x: Tensor, limit: number): Tensor {
  const y = x.mul(2);
  check(y, limit + broken()); // calls
  return y;
}

function fails(x: Tensor, options: { readonly scale?: { readonly by: number } }): Tensor {
  const y = x.add(broken());
  return y.mul(options.scale!.by); // fails
}

let asked = 0;

class Refused extends Error {
  override get name(): string {
    asked++;
    return 'Refused';
  }
}

function refuses(x: Tensor): Tensor {
  const y = x.add(broken());
  if (y.sum().itemSync() > 0) throw new Refused('no');
  return y;
}

function rethrows(x: Tensor, error: Error): Tensor {
  const y = x.add(broken());
  if (y.sum().itemSync() > 0) throw error;
  return y;
}

function thrownBy(run: () => unknown): Error {
  try {
    run();
  } catch (error) {
    return error as Error;
  }
  throw new Error('nothing was thrown');
}

describe('the stack of an error that captured code throws', () => {
  test('has the lines of the throw and of the calls, and one for tostatic', () => {
    const captured = toStatic(runs);
    for (let run = 0; run < 3; run++) {
      const error = thrownBy(() => captured(ones([2]), 1));
      expect(error).toBeInstanceOf(RangeError);
      expect(error.stack).toMatch(/^RangeError: too large\n/);
      expectPlaces(error, import.meta.filename, ['// thrown', '// calls']);
      expect(error.stack).toMatch(/\(\d+ frames of tostatic\)/);
    }
  });

  test('has the line of an expression that fails', () => {
    const error = thrownBy(() => toStatic(fails)(ones([2]), {}));
    expect(error).toBeInstanceOf(TypeError);
    expectPlaces(error, import.meta.filename, ['// fails']);
  });

  test('is left alone where the engine would ask the error for its name', () => {
    const error = thrownBy(() => toStatic(refuses)(ones([2])));
    expect(error).toBeInstanceOf(Refused);
    expect(asked).toBe(0);
  });

  test('stays as it was where the error is from elsewhere', () => {
    const made = new Error('made before');
    const { stack } = made;
    expect(thrownBy(() => toStatic(rethrows)(ones([2]), made))).toBe(made);
    expect(made.stack).toBe(stack);
    const frozen = Object.freeze(new Error('frozen'));
    expect(thrownBy(() => toStatic(rethrows)(ones([2]), frozen))).toBe(frozen);
  });
});
