import { expectSync } from '../options/expect-arguments.ts';

let enabled = true;

/** Returns whether ops are recorded for `backward()`; not inside `noGrad`. */
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

/** Runs `body` without recording its ops for backward. Throws ArgumentError for an async function. */
export function noGrad<T>(body: () => T): T {
  expectSync('noGrad', body);
  return withGrad(false, body);
}

/** Runs `body` with recording enabled, even within `noGrad`. Throws ArgumentError for an async function. */
export function enableGrad<T>(body: () => T): T {
  expectSync('enableGrad', body);
  return withGrad(true, body);
}

/** Runs `body` in the given mode; undefined keeps the current mode. */
export function withGradMode<T>(mode: boolean | undefined, body: () => T): T {
  return mode === undefined ? body() : withGrad(mode, body);
}
