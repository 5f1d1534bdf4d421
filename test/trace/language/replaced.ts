/** What tests of replaced functions share. */

import { afterAll, expect, vi } from 'vitest';
import { describeError, describeValues } from '../snapshot.ts';

/** A test file fails if the compiler went through what its tests have replaced. */
export function expectCompilerUntouched(): void {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  afterAll(() => {
    const failures = warn.mock.calls
      .flat()
      .filter((text) => String(text).includes('tostatic failed'));
    expect(failures, 'the compiler went through what the user has replaced').toEqual([]);
  });
}

export type Callable = (this: unknown, ...args: unknown[]) => unknown;
export type Holder = Record<PropertyKey, unknown>;

export const outcome = (run: () => unknown): unknown => {
  try {
    return describeValues([run()]);
  } catch (error) {
    return describeError(error);
  }
};

/** What the replacement knows the test's own values by; for all others it is what it was. */
export const own = new WeakSet<object>();
export const hasOwn = WeakSet.prototype.has;
export const { apply } = Reflect;
export const { defineProperty } = Object;
export const mine = <T extends object>(value: T): T => {
  own.add(value);
  return value;
};
export const isOwn = (value: unknown): boolean =>
  typeof value === 'object' && value !== null
    ? apply(hasOwn, own, [value])
    : value === 'own text' || value === 0.4375;
