import { inspect } from 'node:util';
import { transformSync } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { type Tensor, type ToStaticOptions, tensor, toStatic } from '../../../src/index.ts';
import type { Scope } from '../../../src/vm/bytecode/frame.ts';
import { activate } from '../../../src/vm/frames/activation.ts';
import { type Execution, machines } from '../../../src/vm/machine/machine.ts';
import { drive } from '../../vm/run-frame.ts';
import { lowerChecked } from '../parse-function.ts';

/**
 * The body of a function. It sees `log`, to note what happens; `spy(name, items)`, an iterable that
 * notes how it is iterated; `watch(name, object)`, a proxy that notes every access; `rejects` and `turn`
 * for asynchronous code.
 */
export type Cases = Readonly<Record<string, string>>;

export interface Mode {
  readonly sloppy?: boolean;
  readonly async?: boolean;
  /** Syntax that this engine may lack: natively it then runs as esbuild lowers it. */
  readonly isNew?: boolean;
  /** Default: true. */
  readonly isCaptured?: boolean;
}

const executions: readonly Execution[] = [
  { executor: 'machine' },
  { executor: 'interpreter' },
  { executor: 'machine', suspendEverywhere: true },
  { executor: 'interpreter', suspendEverywhere: true },
];

/** Every case natively, by both executors, by both with the frame resumed at every instruction, and captured. */
export function sameAsNative(area: string, cases: Cases, mode: Mode = {}): void {
  describe(area, () => {
    for (const [name, body] of Object.entries(cases)) {
      it(name, async () => {
        const text = functionText(body, mode);
        const expected = await outcome((helpers) => native(text, helpers, mode));
        for (const execution of executions) {
          const found = await outcome((helpers) => byBytecode(text, mode, execution, helpers));
          expect(found, inspect(execution)).toBe(expected);
        }
        if (mode.isCaptured === false) return;
        for (const options of [{}, { capture: 'auto' }] as const) {
          const found = await outcome((helpers) => captured(text, helpers, mode, options));
          expect(found, `captured, ${inspect(options)}`).toBe(expected);
        }
      });
    }
  });
}

const names = ['log', 'spy', 'watch', 'turn'] as const;
type Helpers = Readonly<Record<(typeof names)[number], unknown>>;

function functionText(body: string, { sloppy, async }: Mode): string {
  const strict = sloppy ? '' : '"use strict";';
  return `(${async ? 'async ' : ''}function () { ${strict} ${body} })`;
}

function native(text: string, helpers: Helpers, mode: Mode): unknown {
  return madeFunction(text, helpers, mode)();
}

function madeFunction(text: string, helpers: Helpers, mode: Mode): () => unknown {
  const made = `const made = ${text};`;
  const script =
    mode.isNew && !parses(made) ? transformSync(made, { target: 'es2022' }).code : made;
  const make = new Function(...names, `${script} return made`);
  return make(...names.map((name) => helpers[name])) as () => unknown;
}

/** With an op before the case: what follows it continues a graph, or comes after its break. */
function captured(text: string, helpers: Helpers, mode: Mode, options: ToStaticOptions): unknown {
  const body = madeFunction(text, helpers, mode);
  const before = new Function('body', 'return (x) => { x.add(1); return body(); }');
  const run = before(body) as (x: Tensor) => unknown;
  return toStatic(run, options)(tensor([1]));
}

function parses(script: string): boolean {
  try {
    new Function(script);
    return true;
  } catch {
    return false;
  }
}

/** Both texts by bytecode: one says with older syntax what the other says, which no compiler lowers. */
export function sameByBytecode(name: string, body: string, inOtherWords: string): void {
  it(name, async () => {
    for (const execution of executions) {
      const [found, expected] = await Promise.all(
        [body, inOtherWords].map((each) => {
          const text = functionText(each, {});
          return outcome((helpers) => byBytecode(text, {}, execution, helpers));
        }),
      );
      expect(found, inspect(execution)).toBe(expected);
    }
  });
}

function byBytecode(text: string, mode: Mode, execution: Execution, helpers: Helpers): unknown {
  const code = lowerChecked(text, !mode.sloppy);
  const closure = { code, scope: scopeOf(helpers), cells: [] };
  const machineFor = machines(execution);
  if (!code.isAsync) return machineFor(code)(activate(closure, undefined, []));
  return drive(activate(closure, undefined, []), machineFor(code));
}

function scopeOf(helpers: Helpers): Scope {
  const values = helpers as Readonly<Record<string, unknown>>;
  const global = globalThis as unknown as Record<string, unknown>;
  const get = (name: string): unknown => {
    if (name in values) return values[name];
    if (name in global) return global[name];
    throw new ReferenceError(`${name} is not defined`);
  };
  return {
    has: (name) => name in values || name in global,
    get,
    set(name, value, strict) {
      if (strict && !(name in global)) throw new ReferenceError(`${name} is not defined`);
      global[name] = value;
    },
    reader: (name) => () => get(name),
    isConstant: () => false,
    delete: (name) => Reflect.deleteProperty(global, name),
  };
}

async function outcome(run: (helpers: Helpers) => unknown): Promise<string> {
  const entries: string[] = [];
  const log = (...values: unknown[]): unknown => {
    entries.push(values.map(show).join(' '));
    return values.at(-1);
  };
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  let end: string;
  try {
    end = `returns ${show(await run({ log, spy: spyWith(log), watch: watchWith(log), turn }))}`;
  } catch (error) {
    end = `throws ${show(error)}`;
  }
  await turn();
  return [...entries, end].join('\n');
}

function show(value: unknown): string {
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (typeof value === 'function') return `function ${value.name}/${value.length}`;
  return inspect(value, { depth: 4, showProxy: false });
}

type Log = (...values: unknown[]) => unknown;

const spyWith =
  (log: Log) =>
  (name: string, items: readonly unknown[], methods: object = {}) => ({
    [Symbol.iterator]() {
      log(name, 'open');
      let next = 0;
      return {
        next(value: unknown) {
          log(name, 'next', value);
          const done = next >= items.length;
          return { done, value: items[next++] };
        },
        return(value: unknown) {
          log(name, 'return', value);
          return { done: true, value };
        },
        ...methods,
      };
    },
  });

const watchWith =
  (log: Log) =>
  (name: string, target: object): object => {
    const traps = Object.getOwnPropertyNames(Reflect) as (keyof typeof Reflect)[];
    const handler = Object.fromEntries(
      traps.map((trap) => [
        trap,
        (...args: unknown[]) => {
          const key = typeof args[1] === 'object' ? '' : String(args[1]);
          log(`${name}.${String(trap)}`, key);
          return (Reflect[trap] as (...args: unknown[]) => unknown)(...args);
        },
      ]),
    );
    return new Proxy(target, handler);
  };
