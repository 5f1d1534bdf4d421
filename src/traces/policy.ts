/** What users say about capturing: where a graph must break, what is not looked into, whether at all. */

type AnyFunction = (...args: never[]) => unknown;

/** Ends the graph here: in a captured function a break, elsewhere nothing. */
export function breakGraph(): void {}

const untouched = new WeakSet<object>();

/**
 * The function runs as ordinary JavaScript wherever captured code calls it, and `toStatic` of it does
 * nothing. Also as a decorator of methods. Answers the function itself.
 */
export function notToStatic<F extends AnyFunction>(fn: F, _context?: unknown): F {
  untouched.add(fn);
  return fn;
}

export function isNotToStatic(fn: object): boolean {
  return untouched.has(fn);
}

let enabled = true;

/** With `false`, captured functions run as ordinary JavaScript until it is called with `true` again. */
export function enableToStatic(value: boolean): void {
  enabled = value;
}

export function toStaticEnabled(): boolean {
  return enabled;
}
