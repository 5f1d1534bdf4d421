import type { ScriptFacts } from '../script/analyze-script.ts';
import type { FunctionFacts } from '../script/binding.ts';
import type { FunctionNode } from '../script/captured-function.ts';
import { functionNames } from '../script/function-names.ts';
import { LazyScript } from '../script/lazy-script.ts';
import { type CaptureRefusal, isRefusal } from '../script/refusal.ts';
import type { ModuleText } from './probe.ts';

interface ParsedFunction {
  readonly facts: FunctionFacts;
  readonly script: Pick<ScriptFacts, 'classes'>;
  readonly names: ReadonlyMap<FunctionNode, string>;
}

/** The syntax of an instrumented module, parsed on demand. */
export class ModuleSyntax {
  readonly #script: LazyScript | CaptureRefusal;
  #names: ParsedFunction['names'] = new Map();
  /** The number of unparsed bodies when the names were found. */
  #unparsed: number | undefined;

  constructor({ code, commonJs = false }: ModuleText) {
    this.#script = LazyScript.parse(code, !commonJs);
  }

  /** Returns the function that begins at `start`; undefined if there is none, or if the text can't be parsed. */
  functionAt(start: number): ParsedFunction | undefined {
    const script = this.#script;
    if (isRefusal(script)) return undefined;
    const facts = script.functionAt(start);
    if (!facts || isRefusal(facts) || facts.node.start !== start) return undefined;
    if (script.unparsed !== this.#unparsed) {
      this.#unparsed = script.unparsed;
      this.#names = functionNames(script.ast);
    }
    return { facts, script, names: this.#names };
  }
}
