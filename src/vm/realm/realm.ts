import { type Context, constants, createContext, Script } from 'node:vm';
import * as callSiteText from '../bytecode/call-site-text.ts';
import type { Code } from '../bytecode/code.ts';
import * as liveness from '../bytecode/liveness.ts';
import * as packedCode from '../interpreter/packed-code.ts';
import * as functionText from '../machine/function-text.ts';
import type { Execution } from '../machine/machine.ts';
import * as machineText from '../machine/machine-text.ts';
import * as resumePcs from '../machine/resume-pcs.ts';
import type { outsideModules } from './outside-modules.ts';
import type { scriptSteps } from './script-steps.ts';

type Outside = { readonly [M in (typeof outsideModules)[number]]: object };

const modules: Outside = {
  'machine-text': machineText,
  'function-text': functionText,
  'packed-code': packedCode,
  'call-site-text': callSiteText,
  liveness,
  'resume-pcs': resumePcs,
};

/**
 * Compiled once, run in every realm. Built-in names are saved before any script runs: a script that declares `let
 * Array` doesn't change what instructions do.
 */
export const compileRuntime = (text: string): Script =>
  new Script(
    `(function (require, exports, module) { 'use strict'; const { ${standardNames().join(', ')} } = globalThis; ${text}\n})`,
    { filename: 'tostatic-runtime.js' },
  );

/** Returns the built-in global names that a function can declare for itself. */
function standardNames(): string[] {
  const all = new Script('Object.getOwnPropertyNames(globalThis)').runInContext(createContext());
  const fixed = ['undefined', 'NaN', 'Infinity', 'eval', 'globalThis'];
  return (all as string[]).filter((name) => /^\w+$/.test(name) && !fixed.includes(name));
}

/** Defines the printing functions of a script. Otherwise only built-in names exist. */
const printing = `(print) => {
  const write = (...values) => print(values.map(String).join(' '));
  for (const [name, value] of Object.entries({ print: write, console: { log: write } })) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  }
}`;

/** The name that the declaring script calls. It is not a property of the global object. */
const stepName = '$$tostatic';
const starting = `let ${stepName}; (begin) => { ${stepName} = (names) => { ${stepName} = begin(names); } }`;

/** A name that a script declares for all scripts of its realm, with its kind. */
export interface ScriptLexical {
  readonly kind: 'let' | 'const';
  readonly name: string;
}

/** The names that a script declares for its realm, without duplicates. */
export interface ScriptNames {
  readonly functions: readonly string[];
  readonly variables: readonly string[];
  /** In initialization order. */
  readonly lexicals: readonly ScriptLexical[];
}

/** A new global object with its built-ins, and the bytecode runtime. */
export class Realm {
  readonly #context: Context;
  readonly #steps: typeof scriptSteps;
  readonly #onBegin: OnBegin;

  constructor(runtime: Script, print: (text: string) => void) {
    this.#context = createContext(constants.DONT_CONTEXTIFY as unknown as Context);
    (this.evaluate(printing) as (print: unknown) => void)(print);
    this.#onBegin = this.evaluate(starting) as OnBegin;
    const exports: { scriptSteps?: typeof scriptSteps } = {};
    const module = { exports };
    const load = runtime.runInContext(this.#context) as (...args: unknown[]) => void;
    load((name: keyof Outside) => modules[name], exports, module);
    this.#steps = module.exports.scriptSteps!;
  }

  /** Evaluates the text natively. */
  evaluate(text: string, filename = 'realm.js'): unknown {
    return new Script(text, { filename }).runInContext(this.#context);
  }

  /**
   * Runs a script as bytecode. A generated script declares the names natively and initializes them when the code has
   * computed their values, so that other scripts and indirect `eval` see them as the language requires.
   */
  runScript(code: Code, execution: Execution, names: ScriptNames): void {
    this.#onBegin((declared) => this.#steps(code, execution, declared));
    const step = `${stepName}()`;
    this.evaluate(
      [
        ...names.functions.map((name) => `function ${name}() {}`),
        ...names.variables.map((name) => `var ${name};`),
        `${stepName}({ __proto__: null, ${names.lexicals.map(({ name }) => accesses(name)).join(', ')} });`,
        ...names.lexicals.map(({ kind, name }) => `${kind} ${name} = ${step};`),
        `${step};`,
      ].join('\n'),
      code.source.file,
    );
  }
}

type Declared = Parameters<typeof scriptSteps>[2];
type OnBegin = (begin: (declared: Declared) => () => unknown) => void;

/** The script's own accessors are the fastest, and have the engine's messages. */
function accesses(name: string): string {
  const set = `($$value) => { ${name} = $$value; }`;
  return `[${JSON.stringify(name)}]: { get: () => ${name}, typeOf: () => typeof ${name}, set: ${set}, setStrict: ${set} }`;
}
