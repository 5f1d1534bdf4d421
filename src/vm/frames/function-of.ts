import { assertNever } from '../../../runtime/errors/invariant.ts';
import type { Closure } from '../bytecode/frame.ts';
import { defineProperty, descriptionOf, descriptor } from '../language/primordials.ts';
import { type AnyFunction, ReturnOverride } from '../language/return-override.ts';
import { activate, thisSeenBy } from './activation.ts';
import { asyncCallable } from './async-frame.ts';
import { asyncGeneratorCallable, generatorCallable } from './generator-frame.ts';
import type { MachineFor } from './machine.ts';

class Marked extends ReturnOverride {
  readonly #closure: Closure;

  constructor(fn: AnyFunction, closure: Closure) {
    super(fn);
    this.#closure = closure;
  }

  static closureOf = (fn: object): Closure | undefined =>
    #closure in fn ? (fn as Marked).#closure : undefined;
}

/** Returns the closure of a function that a `closure` instruction created. */
export function closureOf(fn: unknown): Closure | undefined {
  return typeof fn === 'function' ? Marked.closureOf(fn) : undefined;
}

/**
 * Creates a real function for a closure, with the name and length of the user's function; arrows and methods
 * reject `new`. `name`: given if a computed key names it. `parent`: the parent of a derived class.
 */
export function functionOf(
  closure: Closure,
  machineFor: MachineFor,
  name?: PropertyKey,
  parent?: unknown,
): AnyFunction {
  const fn = callable(closure, machineFor, parent);
  const { code } = closure;
  define(fn, 'length', code.parameterCount);
  define(fn, 'name', name === undefined ? code.name : functionName(name));
  closure.fn = fn;
  new Marked(fn, closure);
  return fn;
}

/** Creates a class without members, whose constructor runs the closure. */
export function classOf(
  closure: Closure,
  machineFor: MachineFor,
  parent: unknown,
  name?: PropertyKey,
): AnyFunction {
  const fn = functionOf(closure, machineFor, name, parent);
  closure.homeObject = fn.prototype as object;
  return fn;
}

function callable(closure: Closure, machineFor: MachineFor, parent: unknown): AnyFunction {
  const { code, lexicalThis } = closure;
  const make = machineFor.functionsFor?.(code);
  if (make) return make(closure);
  const machine = machineFor(code);
  // No register is live at the entry, so none is allocated; frames that are suspended later are new ones.
  const execute = (thisValue: unknown, args: readonly unknown[], newTarget?: unknown): unknown =>
    machine({ closure, pc: 0, registers: [], thisValue, args, newTarget, returnTo: undefined });
  if (code.isGenerator || code.isAsync) {
    const begin = (thisValue: unknown, args: readonly unknown[]) =>
      activate(closure, thisValue, args);
    if (!code.isGenerator) return asyncCallable(begin, machine);
    return (code.isAsync ? asyncGeneratorCallable : generatorCallable)(begin, machine);
  }
  switch (code.kind) {
    case 'arrow': {
      const { value, newTarget } = lexicalThis ?? { value: undefined, newTarget: undefined };
      return (...args: unknown[]) => execute(value, args, newTarget);
    }
    case 'method':
      return {
        method(this: unknown, ...args: unknown[]) {
          return execute(thisSeenBy(closure, this), args);
        },
      }.method;
    case 'function': {
      const sloppy = code.strict ? undefined : sloppyCallable();
      if (sloppy) return sloppy(execute);
      return function (this: unknown, ...args: unknown[]) {
        return execute(thisSeenBy(closure, this), args, new.target);
      };
    }
    case 'constructor':
      return class {
        constructor(...args: unknown[]) {
          // biome-ignore lint/correctness/noConstructorReturn: a constructor may return another object
          return execute(this, args, new.target) as object;
        }
      };
    case 'derivedConstructor':
      return class extends (parent as new () => object) {
        // @ts-expect-error: the code itself calls the parent
        // biome-ignore lint/correctness/noUnreachableSuper: so there is no `super()` here
        constructor(...args: unknown[]) {
          // biome-ignore lint/correctness/noConstructorReturn: the code has created the object
          return execute(undefined, args, new.target) as object;
        }
      };
    default:
      return assertNever(code.kind, 'kind of function');
  }
}

type Execute = (thisValue: unknown, args: readonly unknown[], newTarget?: unknown) => unknown;
type SloppyCallable = (execute: Execute) => AnyFunction;

const FunctionConstructor = Function;
let sloppy: SloppyCallable | null | undefined;

/**
 * Returns a factory of sloppy functions, whose own `caller` and `arguments` only the engine can create. Undefined
 * if the page forbids code generation.
 */
function sloppyCallable(): SloppyCallable | undefined {
  if (sloppy === undefined) {
    try {
      const text = 'return function (...args) { return execute(this, args, new.target); }';
      sloppy = new FunctionConstructor('execute', text) as SloppyCallable;
    } catch {
      sloppy = null;
    }
  }
  return sloppy ?? undefined;
}

/** Returns the name that a property key gives to a function. */
export function functionName(key: PropertyKey): string {
  if (typeof key !== 'symbol') return String(key);
  const description = descriptionOf(key);
  return description === undefined ? '' : `[${description}]`;
}

function define(fn: AnyFunction, key: 'name' | 'length', value: unknown): void {
  if (fn[key] !== value) defineProperty(fn, key, descriptor({ value, configurable: true }));
}
