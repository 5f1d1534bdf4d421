import { assertNever } from '../../runtime/errors/invariant.ts';
import type { Code } from '../bytecode/code.ts';
import { type Closure, type Frame, newFrame } from '../bytecode/frame.ts';
import { drive } from './async-frame.ts';

/** Runs a frame of one code from its pc to its return, or to an `await`: then the result is `Suspended`. */
export type Machine = (frame: Frame) => unknown;

/** What runs the functions that code makes. */
export type MachineFor = (code: Code) => Machine;

// biome-ignore lint/complexity/noBannedTypes: whatever can be called
type AnyFunction = Function;

/**
 * Hands a function to a class that only adds a private field to it: invisible to the user, and a
 * hundred times faster than a WeakMap, which matters for functions made in a loop.
 */
class Itself {
  constructor(fn: AnyFunction) {
    // biome-ignore lint/correctness/noConstructorReturn: the subclass extends what is returned
    return fn;
  }
}

class Marked extends Itself {
  readonly #closure: Closure;

  constructor(fn: AnyFunction, closure: Closure) {
    super(fn);
    this.#closure = closure;
  }

  static closureOf(fn: object): Closure | undefined {
    return #closure in fn ? fn.#closure : undefined;
  }
}

/** The closure behind a function that a `closure` instruction made. */
export function closureOf(fn: unknown): Closure | undefined {
  return typeof fn === 'function' ? Marked.closureOf(fn) : undefined;
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
export function functionOf(
  closure: Closure,
  machineFor: MachineFor,
  name?: PropertyKey,
): AnyFunction {
  const fn = callable(closure, machineFor);
  const { code } = closure;
  define(fn, 'length', code.parameterCount);
  define(fn, 'name', name === undefined ? code.name : functionName(name));
  new Marked(fn, closure);
  return fn;
}

function callable(closure: Closure, machineFor: MachineFor): AnyFunction {
  const { code, lexicalThis } = closure;
  const machine = machineFor(code);
  // No register lives at the entry, so none is laid out; frames that are suspended later are new ones.
  const execute = (thisValue: unknown, args: readonly unknown[], newTarget?: unknown): unknown =>
    machine({ closure, pc: 0, registers: [], thisValue, args, newTarget, returnTo: undefined });
  if (code.isAsync) return asyncCallable(closure, machine);
  switch (code.kind) {
    case 'arrow': {
      const thisValue = lexicalThis?.value;
      return (...args: unknown[]) => execute(thisValue, args);
    }
    case 'method':
      return {
        method(this: unknown, ...args: unknown[]) {
          return execute(thisSeenBy(closure, this), args);
        },
      }.method;
    case 'function':
    case 'constructor':
      return function (this: unknown, ...args: unknown[]) {
        return execute(thisSeenBy(closure, this), args, new.target);
      };
    default:
      return assertNever(code.kind, 'kind of function');
  }
}

const asyncPrototype = Object.getPrototypeOf(async () => {}) as object;

/** Never a constructor. */
function asyncCallable(closure: Closure, machine: Machine): AnyFunction {
  const { call } = {
    call(this: unknown, ...args: unknown[]) {
      return drive(activate(closure, this, args), machine);
    },
  };
  return Object.setPrototypeOf(call, asyncPrototype) as AnyFunction;
}

/** The name that a property key gives to a function. */
export function functionName(key: PropertyKey): string {
  if (typeof key !== 'symbol') return String(key);
  return key.description === undefined ? '' : `[${key.description}]`;
}

function define(fn: AnyFunction, key: 'name' | 'length', value: unknown): void {
  if (fn[key] !== value) Object.defineProperty(fn, key, { value, configurable: true });
}
