import { publishedScheme } from '../../../runtime/errors/own-code.ts';
import { type LazyProgram, parseLazily } from '../../vm/syntax/parse-lazily.ts';
import { analyzeScript, type ScriptFacts } from '../script/analyze-script.ts';
import type { FunctionFacts } from '../script/binding.ts';
import type { FunctionNode } from '../script/captured-function.ts';
import { functionNames } from '../script/function-names.ts';
import { parseScript, scriptSyntax } from '../script/parse-script.ts';
import { isRefusal } from '../script/refusal.ts';
import type { ModuleText } from './probe.ts';

/** A parsed module as far as it is known. */
interface Parsed {
  readonly script: ScriptFacts;
  readonly names: ReadonlyMap<FunctionNode, string>;
}

interface ParsedFunction extends Parsed {
  readonly facts: FunctionFacts;
}

/** The syntax of an instrumented module, parsed as far as it is needed. */
export class ModuleSyntax {
  readonly #content: ModuleText;
  #lazy: LazyProgram | undefined;
  /** With empty bodies if they are parsed lazily; null if the text can't be parsed. */
  #parsed: Parsed | null | undefined;
  readonly #functions = new Map<number, FunctionFacts>();

  constructor(content: ModuleText, file: string) {
    this.#content = content;
    if (!file.startsWith(publishedScheme)) return;
    try {
      this.#openLazily(parseLazily(content.code, scriptSyntax('module')));
    } catch {
      // Then the whole text is parsed, and reports why.
    }
  }

  /** Returns the function that begins at `start`; undefined if there is none, or if the text can't be parsed. */
  functionAt(start: number): ParsedFunction | undefined {
    let facts = this.#functions.get(start);
    if (facts === undefined && this.#lazy) facts = this.#filled(start, this.#lazy);
    if (this.#parsed === undefined) this.#parsed = this.#parseAll();
    const parsed = this.#parsed;
    facts ??= parsed?.script.functions.find(({ node }) => node.start === start);
    if (!parsed || !facts) return undefined;
    this.#functions.set(start, facts);
    return { ...parsed, facts };
  }

  /**
   * Functions of this package's modules are parsed one by one, since a program uses few of them. Assignments in
   * other functions are then unknown, so the module must have no variable that a function could assign.
   */
  #openLazily(lazy: LazyProgram): void {
    const script = analyzeScript(lazy.ast);
    const kinds = [...script.program.bindings.values()].map(({ kind }) => kind);
    if (kinds.includes('let') || kinds.includes('var')) return;
    this.#lazy = lazy;
    this.#parsed = { script, names: functionNames(lazy.ast) };
  }

  /**
   * Returns the function that begins at `start`. Nested functions and constructors require the whole module to be
   * parsed.
   */
  #filled(start: number, lazy: LazyProgram): FunctionFacts | undefined {
    const { script } = this.#parsed!;
    const found = script.functions.find(({ node }) => node.start === start);
    try {
      if (found && found.kind !== 'constructor') {
        const { node } = found;
        return lazy.fill(node.start, node.end) ? script.withBody(found) : found;
      }
    } catch {
      // As above.
    }
    this.#lazy = undefined;
    this.#parsed = undefined;
    this.#functions.clear();
    return undefined;
  }

  #parseAll(): Parsed | null {
    const { code, commonJs = false } = this.#content;
    const ast = parseScript(code, !commonJs);
    return isRefusal(ast) ? null : { script: analyzeScript(ast), names: functionNames(ast) };
  }
}
