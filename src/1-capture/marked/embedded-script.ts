import { invariant } from '../../../runtime/errors/invariant.ts';
import { publishedScheme } from '../../../runtime/errors/own-code.ts';
import type { Code, SourceText } from '../../vm/bytecode/code.ts';
import { readCode } from '../../vm/stored/read-code.ts';
import { StoredReader } from '../../vm/stored/stored-reader.ts';
import { analyzeScript, type ScriptFacts } from '../script/analyze-script.ts';
import type { FunctionNode, FunctionSyntax } from '../script/captured-function.ts';
import { functionNames } from '../script/function-names.ts';
import { parseScript } from '../script/parse-script.ts';
import { isRefusal } from '../script/refusal.ts';
import { makeScriptText } from '../script/script-text.ts';
import { type FunctionOutline, outlineOf } from '../stored/function-outline.ts';
import { readOutline } from '../stored/read-outline.ts';
import type { EmbeddedSource, ModuleText } from './probe.ts';
import { storedIn, unpack } from './unpack.ts';

/** A function of an instrumented module. */
export interface EmbeddedFunction extends FunctionOutline {
  /** The function's offset in the source. */
  readonly start: number;
  readonly source: SourceText;
  syntax(): FunctionSyntax;
  /**
   * Returns the function's bytecode if the module carries it. `name`: for a function without a name; `lower`: lowers
   * the syntax.
   */
  readonly code?: (name: string, lower: () => Code) => Code;
}

const modules = new WeakMap<() => EmbeddedSource, EmbeddedModule>();

/**
 * Returns the function that begins at `start`; undefined if there is none, or if the text can't be parsed.
 *
 * @param source the plugin's function that returns the module.
 */
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

interface ParsedModule {
  readonly facts: ScriptFacts;
  readonly names: ReadonlyMap<FunctionNode, string>;
}

class EmbeddedModule {
  readonly #embedded: EmbeddedSource;
  readonly #source: SourceText;
  readonly #functions = new Map<number, EmbeddedFunction>();
  #content: ModuleText | undefined;
  /** Null if the text can't be parsed. */
  #parsed: ParsedModule | null | undefined;

  constructor(embedded: EmbeddedSource) {
    this.#embedded = embedded;
    this.#source = lazySource(embedded.file, () => this.#text());
  }

  functionAt(start: number): EmbeddedFunction | undefined {
    let found = this.#functions.get(start);
    if (!found) {
      const stored = storedIn(this.#embedded)?.[start];
      found = stored === undefined ? this.#fromText(start) : this.#fromStored(start, stored);
      if (found) this.#functions.set(start, found);
    }
    return found;
  }

  #fromStored(start: number, stored: string): EmbeddedFunction {
    const from = StoredReader.open(stored);
    const outline = readOutline(from);
    const source = this.#source;
    let code: Code | undefined;
    return {
      ...outline,
      start,
      source,
      syntax: () => this.#syntaxAt(start),
      code(name, lower) {
        code ??= readCode(from, outline.name ?? name, source, lower);
        return code;
      },
    };
  }

  #fromText(start: number): EmbeddedFunction | undefined {
    const parsed = this.#parse();
    const found = parsed?.facts.functions.find(({ node }) => node.start === start);
    if (!parsed || !found) return undefined;
    const outline = outlineOf(found, parsed.facts, parsed.names);
    return { ...outline, start, source: this.#source, syntax: () => found };
  }

  #syntaxAt(start: number): FunctionSyntax {
    const found = this.#parse()?.facts.functions.find(({ node }) => node.start === start);
    invariant(found, `no function begins at ${start} of ${this.#source.file}`);
    return found;
  }

  #parse(): ParsedModule | null {
    if (this.#parsed === undefined) {
      const { code, commonJs = false } = this.#text();
      const ast = parseScript(code, !commonJs);
      this.#parsed = isRefusal(ast)
        ? null
        : { facts: analyzeScript(ast), names: functionNames(ast) };
    }
    return this.#parsed;
  }

  #text(): ModuleText {
    this.#content ??= unpack(this.#embedded);
    return this.#content;
  }
}

/** A source whose text is unpacked on first use. The name of a file of this package is known before. */
function lazySource(url: string, unpacked: () => ModuleText): SourceText {
  let made: SourceText | undefined;
  const open = (): SourceText => {
    if (!made) {
      const { code, map } = unpacked();
      made = makeScriptText({ text: code, url, map });
    }
    return made;
  };
  return {
    get file() {
      return url.startsWith(publishedScheme) ? url : open().file;
    },
    get text() {
      return open().text;
    },
    position: (offset) => open().position(offset),
    line: (file, line) => open().line(file, line),
  };
}
