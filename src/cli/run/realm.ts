import { type Context, constants, createContext, Script } from 'node:vm';
import type { Code } from '../../bytecode/code.ts';
import * as liveness from '../../bytecode/liveness.ts';
import * as callSiteText from '../../resume/call-site-text.ts';
import type { Execution } from '../../resume/machine.ts';
import * as machineText from '../../resume/machine-text.ts';
import type { runScript } from '../../resume/realm.ts';
import * as resumePcs from '../../resume/resume-pcs.ts';
import type { outside } from './realm-runtime.ts';

type Outside = { readonly [M in (typeof outside)[number]]: object };

const modules: Outside = {
  'machine-text': machineText,
  'call-site-text': callSiteText,
  liveness,
  'resume-pcs': resumePcs,
};

/** Compiled once, run in every realm. */
export const compileRuntime = (text: string): Script =>
  new Script(`(function (require, exports, module) { ${text}\n})`, {
    filename: 'tostatic-runtime.js',
  });

/** What a script may write with; nothing else is there that the language doesn't name. */
const printing = `(print) => {
  const write = (...values) => print(values.map(String).join(' '));
  for (const [name, value] of Object.entries({ print: write, console: { log: write } })) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  }
}`;

/** A fresh global object with everything that belongs to it, and the runtime of bytecode. */
export class Realm {
  readonly #context: Context;
  readonly #run: typeof runScript;

  constructor(runtime: Script, print: (text: string) => void) {
    this.#context = createContext(constants.DONT_CONTEXTIFY as unknown as Context);
    (this.evaluate(printing) as (print: unknown) => void)(print);
    const exports: { runScript?: typeof runScript } = {};
    const module = { exports };
    const load = runtime.runInContext(this.#context) as (...args: unknown[]) => void;
    load((name: keyof Outside) => modules[name], exports, module);
    this.#run = module.exports.runScript!;
  }

  /** By the engine itself. */
  evaluate(text: string, filename = 'realm.js'): unknown {
    return new Script(text, { filename }).runInContext(this.#context);
  }

  runScript(code: Code, execution: Execution): void {
    this.#run(code, execution);
  }
}
