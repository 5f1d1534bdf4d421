import { publishedScheme } from '../../../runtime/errors/own-code.ts';
import { type LazyProgram, parseLazily } from '../../vm/syntax/parse-lazily.ts';
import type { Script } from '../live/script.ts';
import { analyzeScript, type ScriptFacts } from '../script/analyze-script.ts';
import type { FunctionFacts } from '../script/binding.ts';
import { functionNames } from '../script/function-names.ts';
import { parseScript, scriptSyntax } from '../script/parse-script.ts';
import { isRefusal } from '../script/refusal.ts';
import { makeScriptText, type ScriptText } from '../script/script-text.ts';
import type { EmbeddedSource, ModuleText } from './probe.ts';
import { unpack } from './unpack.ts';

/** A function of an instrumented module, and the module as far as it is known. */
export interface EmbeddedFunction {
  readonly script: Script;
  readonly facts: FunctionFacts;
}

/** Texts of instrumented modules, by the plugin's function that returns them. */
const modules = new WeakMap<() => EmbeddedSource, EmbeddedModule>();

/** Returns the function that begins at `start`; undefined if there is none, or if the text can't be parsed. */
export function embeddedFunction(
  source: () => EmbeddedSource,
  start: number,
): EmbeddedFunction | undefined {
  let module = modules.get(source);
  if (!module) {
    module = new EmbeddedModule(source());
    modules.set(source, module);
  }
  return module.functionAt(start);
}

class EmbeddedModule {
  readonly #content: ModuleText;
  readonly #text: ScriptText;
  #lazy: LazyProgram | undefined;
  /** With empty bodies if they are parsed lazily. */
  #script: Script | undefined;
  readonly #functions = new Map<number, FunctionFacts>();

  constructor(embedded: EmbeddedSource) {
    this.#content = unpack(embedded);
    const { code: text, map } = this.#content;
    this.#text = makeScriptText({ text, url: embedded.file, map });
    if (!embedded.file.startsWith(publishedScheme)) return;
    try {
      this.#openLazily(parseLazily(text, scriptSyntax('module')));
    } catch {
      // Then the whole text is parsed, and reports why.
    }
  }

  functionAt(start: number): EmbeddedFunction | undefined {
    let facts = this.#functions.get(start);
    if (facts === undefined && this.#lazy) facts = this.#parsed(start, this.#lazy);
    this.#script ??= this.#parseAll();
    const script = this.#script;
    facts ??= script?.facts.functions.find(({ node }) => node.start === start);
    if (!script || !facts) return undefined;
    this.#functions.set(start, facts);
    return { script, facts };
  }

  /**
   * Functions of this package's modules are parsed one by one, since a program uses few of them. Assignments in
   * other functions are then unknown, so the module must have no variable that a function could assign.
   */
  #openLazily(lazy: LazyProgram): void {
    const facts = analyzeScript(lazy.ast);
    const kinds = [...facts.program.bindings.values()].map(({ kind }) => kind);
    if (kinds.includes('let') || kinds.includes('var')) return;
    this.#lazy = lazy;
    this.#script = this.#scriptOf(facts, lazy);
  }

  /**
   * Returns the function that begins at `start`. Nested functions and constructors require the whole module to be
   * parsed.
   */
  #parsed(start: number, lazy: LazyProgram): FunctionFacts | undefined {
    const { facts } = this.#script!;
    const found = facts.functions.find(({ node }) => node.start === start);
    try {
      if (found && found.kind !== 'constructor') {
        const { node } = found;
        return lazy.fill(node.start, node.end) ? facts.withBody(found) : found;
      }
    } catch {
      // As above.
    }
    this.#lazy = undefined;
    this.#script = undefined;
    this.#functions.clear();
    return undefined;
  }

  #parseAll(): Script | undefined {
    const { code, commonJs = false } = this.#content;
    const ast = parseScript(code, !commonJs);
    return isRefusal(ast) ? undefined : this.#scriptOf(analyzeScript(ast), { ast });
  }

  #scriptOf(facts: ScriptFacts, { ast }: Pick<LazyProgram, 'ast'>): Script {
    const names = functionNames(ast);
    return { text: this.#text, facts, names, evaluated: false, isModule: true };
  }
}
