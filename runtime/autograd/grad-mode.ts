let enabled = true;

import { expectFunction } from '../options/expect-arguments.ts';
export function gradEnabled(): boolean {
  return enabled;
}

function withGrad<T>(value: boolean, body: () => T): T {
  const outer = enabled;
  enabled = value;
  try {
    return body();
  } finally {
    enabled = outer;
  }
}

/** Ops inside record nothing for backward. */
export function noGrad<T>(body: () => T): T {
  expectFunction('noGrad', body);
  return withGrad(false, body);
}

/** Ops inside record for backward, also within `noGrad`. */
export function enableGrad<T>(body: () => T): T {
  expectFunction('enableGrad', body);
  return withGrad(true, body);
}

/** Inside `body`, the mode is `mode`; undefined leaves it as it is. */
export function withGradMode<T>(mode: boolean | undefined, body: () => T): T {
  return mode === undefined ? body() : withGrad(mode, body);
}
