import { inspect, types } from 'node:util';
import fc from 'fast-check';
import { afterAll, expect, it, vi } from 'vitest';
import type { Scope } from '../../src/vm/bytecode/frame.ts';
import { activate } from '../../src/vm/frames/activation.ts';
import { type Execution, machines } from '../../src/vm/machine/machine.ts';
import { lowerChecked } from '../lower/parse-function.ts';
import { shareOfDay } from '../share-of-day.ts';
import { type LanguageProgram, languagePrograms } from './language-programs.ts';
import { makeWorld, surroundings } from './language-world.ts';
import { runs } from './runs.ts';

/** Both executors, and with the frame put down and taken up again at every instruction. */
const executions: readonly Execution[] = [
  { executor: 'interpreter' },
  { executor: 'interpreter', suspendEverywhere: true },
  { executor: 'machine' },
  { executor: 'machine', suspendEverywhere: true },
];

type World = ReturnType<typeof makeWorld>;
type Call = (thisValue: unknown, args: readonly unknown[]) => unknown;

/** Undefined: no program after all, labels or names have met. */
function nativeFunction({ fn, sloppy }: LanguageProgram): ((world: World) => Call) | undefined {
  try {
    const text = `${sloppy ? '' : '"use strict";'} return ${fn}`;
    const make = new Function(...surroundings, text);
    return ({ names }) => {
      const native = make(...surroundings.map((name) => names[name])) as () => unknown;
      return (thisValue, args) => Reflect.apply(native, thisValue, args);
    };
  } catch {
    return undefined;
  }
}

function scopeOf({ names }: World): Scope {
  const get = (name: string): unknown => {
    if (name in names) return names[name];
    if (name in globalThis) return (globalThis as Record<string, unknown>)[name];
    throw new ReferenceError(`${name} is not defined`);
  };
  return {
    get,
    has: (name) => name in names || name in globalThis,
    set: (name) => {
      throw new ReferenceError(`${name} is not defined`);
    },
    reader: (name) => () => get(name),
    isConstant: () => false,
  };
}

/**
 * Everything that can be seen from outside: the log, and what each call came to. Messages are left out: the engine
 * words them by the text of the program, which temporaries don't have.
 */
async function outcome(world: World, call: Call, isAsync: boolean): Promise<string> {
  const ends: unknown[] = [];
  for (const args of world.calls) {
    const given = args();
    try {
      ends.push(call({ self: true }, given));
    } catch (error) {
      ends.push(error instanceof Error ? `throws ${error.name}` : ['throws', error]);
    }
    ends.push(given.slice(0, 5));
  }
  if (isAsync) await new Promise((resolve) => setImmediate(resolve));
  return inspect([world.log, ends], { depth: 6, breakLength: Number.POSITIVE_INFINITY });
}

/**
 * What a function is, its name and its enumerable properties: `inspect` itself tells a class by the text, which temporaries
 * don't have, and takes one with parentheses in its heritage for a function.
 */
function showFunction(this: object): unknown {
  const own = Object.getOwnPropertyDescriptors(this) as Record<string, PropertyDescriptor>;
  const kind = [
    ...(types.isAsyncFunction(this) ? ['async'] : []),
    ...(types.isGeneratorFunction(this) ? ['generator'] : []),
    own['prototype']?.writable === false ? 'class' : 'function',
  ];
  const properties = Object.entries(own).filter(([, { enumerable }]) => enumerable);
  const parent: unknown = Object.getPrototypeOf(this);
  return [
    kind.join(' '),
    own['name']?.value,
    ...(typeof parent === 'function' && parent !== Function.prototype ? [parent] : []),
    ...(properties.length > 0 ? [Object.defineProperties({}, Object.fromEntries(properties))] : []),
  ];
}

/** Generated code is compiled anew for every program, at every instruction at most: a short run does that for some. */
function everyHowMany({ executor, suspendEverywhere }: Execution): number {
  if (process.env['GENERATED_RUNS'] || executor === 'interpreter') return 1;
  return suspendEverywhere ? 30 : 3;
}

let count = 0;

async function check(program: LanguageProgram): Promise<void> {
  const native = nativeFunction(program);
  fc.pre(native !== undefined);
  const isAsync = program.fn.includes('async');
  const world = makeWorld();
  const expected = await outcome(world, native(world), isAsync);
  const code = lowerChecked(program.fn, !program.sloppy);
  count++;
  for (const execution of executions) {
    if (count % everyHowMany(execution) !== 0) continue;
    const fresh = makeWorld();
    const closure = { code, scope: scopeOf(fresh), cells: [] };
    const machine = machines(execution)(code);
    const call: Call = (thisValue, args) => machine(activate(closure, thisValue, args));
    const actual = await outcome(fresh, call, isAsync);
    if (actual === expected) continue;
    throw new Error(`${inspect(execution)}\nexpected\n${expected}\nactual\n${actual}`);
  }
}

// Functions made by bytecode don't show the text that they were written with, outside of `tostatic run`.
const shown = vi.spyOn(Function.prototype, 'toString').mockReturnValue('text');
Object.defineProperty(Function.prototype, inspect.custom, {
  value: showFunction,
  configurable: true,
});
// What lies in it is made at first sight, in some versions of Node.
Object.defineProperty(globalThis, inspect.custom, { value: () => 'global', configurable: true });
afterAll(() => {
  shown.mockRestore();
  Reflect.deleteProperty(globalThis, inspect.custom);
  Reflect.deleteProperty(Function.prototype, inspect.custom);
});

const times = { timeout: 3_600_000 };
it.each(shareOfDay([1, 2, 3, 4]))(
  'language programs do as bytecode what they do natively, part %i',
  times,
  async (seed) => {
    count = 0;
    await fc.assert(fc.asyncProperty(languagePrograms, check), runs(300, seed));
    expect(count).toBeGreaterThan(0);
  },
);
