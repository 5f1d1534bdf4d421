import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';
import { invariant } from '../../../runtime/errors/invariant.ts';
import { publishedScheme } from '../../../runtime/errors/own-code.ts';
import type { Code, SourceText } from '../../vm/bytecode/code.ts';
import type { FunctionSyntax } from '../script/captured-function.ts';
import { makeScriptText } from '../script/script-text.ts';
import { type FunctionOutline, outlineOf } from '../stored/function-outline.ts';
import type { StoredFunction } from '../stored/read-function.ts';
import { ModuleSyntax } from './module-syntax.ts';
import { ownTexts } from './own-texts.ts';
import type { EmbeddedSource, ModuleText } from './probe.ts';
import { findStored } from './stored-functions.ts';

/** A function of an instrumented module. */
export interface EmbeddedFunction extends FunctionOutline {
  /** The function's offset in the source. */
  readonly start: number;
  readonly source: SourceText;
  syntax(): FunctionSyntax;
  /**
   * Returns the function's bytecode if it is stored. `name`: for a function without a name; `lower`: lowers the
   * syntax.
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
  const module = getOrInsert(modules, source, () => new EmbeddedModule(source()));
  return module.functionAt(start);
}

class EmbeddedModule {
  readonly #embedded: EmbeddedSource;
  readonly #source: SourceText;
  readonly #functions = new Map<number, EmbeddedFunction>();
  #content: ModuleText | undefined;
  #syntax: ModuleSyntax | undefined;

  constructor(embedded: EmbeddedSource) {
    this.#embedded = embedded;
    this.#source = lazySource(embedded.file, () => this.#text());
  }

  functionAt(start: number): EmbeddedFunction | undefined {
    let found = this.#functions.get(start);
    if (!found) {
      const stored = findStored(this.#embedded.file, start);
      found = stored ? this.#fromStored(start, stored) : this.#fromText(start);
      if (found) this.#functions.set(start, found);
    }
    return found;
  }

  #fromStored(start: number, stored: StoredFunction): EmbeddedFunction {
    const source = this.#source;
    let code: Code | undefined;
    const syntax = () => {
      const found = this.#parsed().functionAt(start);
      invariant(found, `no function begins at ${start} of ${source.file}`);
      return found.facts;
    };
    return {
      ...stored.outline,
      start,
      source,
      syntax,
      code(name, lower) {
        code ??= stored.code(name, source, lower);
        return code;
      },
    };
  }

  #fromText(start: number): EmbeddedFunction | undefined {
    const found = this.#parsed().functionAt(start);
    if (!found) return undefined;
    const { facts, script, names } = found;
    const outline = outlineOf(facts, script, names);
    return { ...outline, start, source: this.#source, syntax: () => facts };
  }

  #parsed(): ModuleSyntax {
    this.#syntax ??= new ModuleSyntax(this.#text());
    return this.#syntax;
  }

  #text(): ModuleText {
    this.#content ??= textOf(this.#embedded);
    return this.#content;
  }
}

function textOf({ file, text = ownTexts()[file] }: EmbeddedSource): ModuleText {
  invariant(text, `the text of ${file} is missing`);
  return text;
}

/** Returns a source whose text is read on first use. The name of a file of this package is known before. */
function lazySource(url: string, read: () => ModuleText): SourceText {
  let source: SourceText | undefined;
  const open = (): SourceText => {
    if (!source) {
      const { code, map } = read();
      source = makeScriptText({ text: code, url, map });
    }
    return source;
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
