import { inspect } from 'node:util';
import type { Closure, Frame, Scope } from '../../src/vm/bytecode/frame.ts';
import { activate } from '../../src/vm/frames/activation.ts';
import { lowerChecked } from '../lower/parse-function.ts';

/** One small function, what surrounds it, and how it is called. */
export interface Example {
  readonly name: string;
  /** An expression with the function; the first one in its text. */
  readonly fn: string;
  /** Declarations around the function. `log` is there always. */
  readonly env?: string;
  /** Argument lists; one call without arguments when left out. */
  readonly calls?: readonly string[];
  /** Run with `result`: what to make of the value before it is compared. */
  readonly look?: string;
  /** An expression for `this`. */
  readonly self?: string;
  readonly sloppy?: boolean;
}

/** A fresh copy of the surroundings, in which expressions can be evaluated. */
export class World {
  readonly evaluate: (expression: string) => unknown;
  readonly strict: boolean;

  constructor(example: Example) {
    this.strict = !example.sloppy;
    const make = new Function(
      `${this.strict ? '"use strict";' : ''} const log = []; ${example.env ?? ''};
      return (__text) => eval(__text);`,
    );
    this.evaluate = make() as World['evaluate'];
  }

  get scope(): Scope {
    const { evaluate } = this;
    // Compiled once per name: programs read the same few all the time.
    const readers = new Map<string, () => unknown>();
    const get = (name: string): unknown => {
      const read = readers.get(name) ?? (evaluate(`() => ${name}`) as () => unknown);
      readers.set(name, read);
      return read();
    };
    return {
      get,
      has: (name) => evaluate(`typeof ${name}`) !== 'undefined',
      set: (name, value) => {
        (evaluate(`(__value) => { ${name} = __value; }`) as (value: unknown) => void)(value);
      },
      reader: (name) => () => get(name),
      isConstant: () => false,
    };
  }
}

export type Runner = (frame: Frame) => unknown;

/** Value or error of each call, and what was logged: everything that can be seen from outside. */
export function nativeOutcome(example: Example): string {
  const world = new World(example);
  const fn = world.evaluate(`(${example.fn})`) as (...args: unknown[]) => unknown;
  return outcome(example, world, (thisValue, args) => Reflect.apply(fn, thisValue, args));
}

export function bytecodeOutcome(example: Example, runner: Runner): string {
  const world = new World(example);
  const code = lowerChecked(example.fn, world.strict);
  const closure: Closure = { code, scope: world.scope, cells: [] };
  return outcome(example, world, (thisValue, args) => runner(activate(closure, thisValue, args)));
}

function outcome(
  example: Example,
  world: World,
  call: (thisValue: unknown, args: readonly unknown[]) => unknown,
): string {
  const results = (example.calls ?? ['']).map((list) => {
    const args = world.evaluate(`[${list}]`) as unknown[];
    const self = example.self === undefined ? undefined : world.evaluate(example.self);
    try {
      const result = call(self, args);
      const look = world.evaluate(`(result) => (${example.look ?? 'result'})`);
      return `(${list}) → ${show((look as (result: unknown) => unknown)(result))}`;
    } catch (error) {
      return `(${list}) throws ${error instanceof Error ? `${error.name}: ${error.message}` : show(error)}`;
    }
  });
  return [...results, `log ${show(world.evaluate('log'))}`].join('\n');
}

export const show = (value: unknown): string => inspect(value, { depth: 6, sorted: false });
