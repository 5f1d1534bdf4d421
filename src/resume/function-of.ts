import { assertNever } from '../../runtime/errors/invariant.ts';
import { type Closure, type Frame, newFrame } from '../bytecode/frame.ts';

/** Runs a frame to its return. */
export type Execute = (frame: Frame) => unknown;

// biome-ignore lint/complexity/noBannedTypes: whatever can be called
type AnyFunction = Function;

const closures = new WeakMap<AnyFunction, Closure>();

/** The closure behind a function that a `closure` instruction made. */
export function closureOf(fn: unknown): Closure | undefined {
  return typeof fn === 'function' ? closures.get(fn) : undefined;
}

/** The frame of a call, with the `this` that the function sees. */
export function activate(
  closure: Closure,
  thisValue: unknown,
  args: readonly unknown[],
  newTarget?: unknown,
): Frame {
  const frame = newFrame(closure, thisSeenBy(closure, thisValue), args);
  return newTarget === undefined ? frame : { ...frame, newTarget };
}

function thisSeenBy({ code, lexicalThis }: Closure, thisValue: unknown): unknown {
  if (code.kind === 'arrow') return lexicalThis ? lexicalThis.value : thisValue;
  if (code.strict) return thisValue;
  // Sloppy code sees an object.
  return thisValue === undefined || thisValue === null ? globalThis : Object(thisValue);
}

/**
 * A real function for a closure: the name and length of the user's, `new` refused by arrows and
 * methods. `name` is given when a computed key names it.
 */
export function functionOf(closure: Closure, execute: Execute, name?: PropertyKey): AnyFunction {
  const fn = callable(closure, execute);
  const { code } = closure;
  Object.defineProperty(fn, 'length', { value: code.parameterCount, configurable: true });
  Object.defineProperty(fn, 'name', {
    value: name === undefined ? code.name : keyName(name),
    configurable: true,
  });
  closures.set(fn, closure);
  return fn;
}

function callable(closure: Closure, execute: Execute): AnyFunction {
  const { kind } = closure.code;
  switch (kind) {
    case 'arrow':
      return (...args: unknown[]) => execute(activate(closure, undefined, args));
    case 'method':
      return {
        method(this: unknown, ...args: unknown[]) {
          return execute(activate(closure, this, args));
        },
      }.method;
    case 'function':
    case 'constructor':
      return function (this: unknown, ...args: unknown[]) {
        return execute(activate(closure, this, args, new.target));
      };
    default:
      return assertNever(kind, 'kind of function');
  }
}

function keyName(key: PropertyKey): string {
  if (typeof key !== 'symbol') return String(key);
  return key.description === undefined ? '' : `[${key.description}]`;
}
