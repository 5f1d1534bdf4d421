/** Validates positional arguments, for untyped JavaScript. */

import { ArgumentError } from '../errors/errors.ts';
import { isNumber } from '../ops/numbers/symbolic-number.ts';
import { shown } from './expect-options.ts';
import { isAsync } from './is-async.ts';

/** Throws ArgumentError unless the value is a function. `owner` is the user-visible name of the callee. */
export function expectFunction(owner: string, value: unknown): void {
  if (typeof value === 'function') return;
  throw new ArgumentError({
    what: `${owner}: not a function`,
    given: shown(value),
    expected: 'a function',
    remedy: 'pass the function itself: () => { … }',
  });
}

/**
 * Throws ArgumentError unless the value is a function that is not async: the effect of `owner` would end at its first
 * `await`. `call` is the call of `owner` that the hint shows.
 */
export function expectSync(owner: string, fn: unknown, call?: string): void {
  expectFunction(owner, fn);
  if (isAsync(fn)) throw asyncGiven(owner, call);
}

/** Returns the error for a function that continues after its call has returned. */
export function asyncGiven(
  owner: string,
  call = `${owner}(() => model.forward(x))`,
): ArgumentError {
  return new ArgumentError({
    what: `${owner}: the function is async`,
    given: 'a function that continues after its first await',
    expected: 'a function whose work is done when it returns',
    remedy: `call ${owner} between the awaits: const y = ${call}; await y.item()`,
  });
}

/** Throws ArgumentError for a named size that is not a non-negative integer; it may be symbolic while tracing. */
export function expectSizes(owner: string, sizes: Readonly<Record<string, unknown>>): void {
  for (const name of Object.keys(sizes)) {
    const size = sizes[name];
    if (typeof size === 'number' ? Number.isInteger(size) && size >= 0 : isNumber(size)) continue;
    throw new ArgumentError({
      what: `${owner}: ${name} is not a size`,
      given: `${name} = ${shown(size)}`,
      expected: 'an integer, 0 or more',
      remedy: `new ${owner}() takes ${Object.keys(sizes).join(', ')} by position, in this order`,
    });
  }
}

/** Returns the error for parameters that aren't iterable, such as a module. */
export function noParameters(owner: string, value: unknown): ArgumentError {
  return new ArgumentError({
    what: `${owner}: not parameters`,
    given: shown(value),
    expected: 'tensors in an array, or what model.parameters() returns',
    remedy: 'pass model.parameters()',
  });
}

/** Throws ArgumentError for a stride, with which padding 'same' can't keep the size. */
export function expectNoStride(name: string, stride: number | readonly number[]): void {
  const list = [stride].flat();
  if (list.every((each) => each === 1)) return;
  throw new ArgumentError({
    what: `${name}: padding 'same' with a stride`,
    given: `stride ${list.join('×')}`,
    expected: 'stride 1: only then has the result the size of the input',
    remedy: 'pass the padding as a number',
  });
}
