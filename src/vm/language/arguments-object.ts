import type { Cell, Frame } from '../bytecode/frame.ts';
import { mappedArguments } from './mapped-arguments.ts';
import { apply, defineProperty, descriptor, weakGet, weakSet } from './primordials.ts';

/** Parameter cells by the `arguments` object that shares them. */
const parameters = new WeakMap<object, readonly Cell[]>();

/** Returns the `arguments` object. A mapped object is for sloppy mode, where its elements alias the parameters. */
export function argumentsObject(frame: Frame, mapped: boolean): object {
  const { args, closure } = frame;
  if (!mapped) return unmappedArguments(args);
  return sharedArguments(args, closure.code.parameterCount, closure.fn);
}

/** Returns an `arguments` object whose first `count` elements alias parameters. */
export function sharedArguments(args: readonly unknown[], count: number, callee: unknown): object {
  const { object, cells } = shareArguments(count)(args);
  weakSet(parameters, object, cells);
  for (let i = 0; i < count; i++) weakSet(cellsOfParameters, cells[i]!, true);
  const field = { value: callee, writable: true, enumerable: false, configurable: true };
  defineProperty(object, 'callee', descriptor(field));
  return object;
}

/** Cells whose `value` is an accessor. */
const cellsOfParameters = new WeakMap<object, true>();

export const isParameterCell = (object: object): boolean =>
  weakGet(cellsOfParameters, object) === true;

export const sharesParameters = (object: object): boolean =>
  weakGet(parameters, object) !== undefined;

export const parameterCell = (object: unknown, index: number): Cell =>
  weakGet(parameters, object as object)![index]!;

/** The `arguments` object of strict mode, whose elements don't alias the parameters. */
export const unmappedArguments = (args: readonly unknown[]): object =>
  apply(unmapped, undefined, args as unknown[]) as object;

function unmapped(): object {
  // biome-ignore lint/complexity/noArguments: it is the requested object
  return arguments;
}

interface Shared {
  readonly object: object;
  readonly cells: readonly Cell[];
}

const makers: Record<number, (args: readonly unknown[]) => Shared> = Object.create(null);

/**
 * Returns a sloppy function with `count` parameters, since only the engine can create objects that share elements
 * with variables. Its variables represent the parameters of the user's function.
 */
function shareArguments(count: number): (args: readonly unknown[]) => Shared {
  makers[count] ??= makeMaker(count);
  return makers[count];
}

function makeMaker(count: number): (args: readonly unknown[]) => Shared {
  if (!generates()) return (args) => mappedArguments(args, count);
  let names = '';
  let cells = '';
  for (let i = 0; i < count; i++) {
    names += `${i > 0 ? ', ' : ''}p${i}`;
    cells += `{ get value() { return p${i}; }, set value(v) { p${i} = v; } },`;
  }
  const text = `return function (${names}) { return { object: arguments, cells: [${cells}] }; }`;
  const make = codeMaker(text)() as () => Shared;
  return (args) => apply(make, undefined, args as unknown[]) as Shared;
}

const FunctionConstructor = Function;

/** Returns whether the page allows code generation. */
function generates(): boolean {
  try {
    new FunctionConstructor('');
    return true;
  } catch {
    return false;
  }
}

const codeMaker = (text: string): (() => unknown) => new FunctionConstructor(text) as () => unknown;
