import type { Program } from 'acorn';
import { type LazyProgram, parseLazily } from '../../vm/syntax/parse-lazily.ts';
import { analyzeScript, type ScriptFacts } from './analyze-script.ts';
import type { Binding, Extent, FunctionFacts } from './binding.ts';
import type { ClassNode, FunctionNode } from './captured-function.ts';
import { parseScript } from './parse-script.ts';
import { type CaptureRefusal, isRefusal } from './refusal.ts';

/**
 * The syntax of a script, parsed as needed, since captures use few functions. When a function is captured, its body
 * with all inner functions is parsed and analyzed, and so are the bodies that mention an assignable outer variable of
 * it. The facts about these variables are then the same as if the whole script had been parsed.
 */
export class LazyScript {
  readonly #text: string;
  readonly #isModule: boolean;
  #lazy: LazyProgram;
  #facts: ScriptFacts;
  /** Functions whose bodies are parsed, with all functions inside. */
  readonly #complete = new Map<FunctionNode, FunctionFacts>();
  /** Functions by the offset of their body, as last analyzed. */
  readonly #byBody = new Map<number, FunctionFacts>();
  /** The number of functions in that map. */
  #indexed = 0;

  private constructor(text: string, isModule: boolean, lazy: LazyProgram) {
    this.#text = text;
    this.#isModule = isModule;
    this.#lazy = lazy;
    this.#facts = analyzeScript(lazy.ast);
  }

  static parse(text: string, isModule: boolean): LazyScript | CaptureRefusal {
    const lazy = parseScript(text, isModule, parseLazily);
    return isRefusal(lazy) ? lazy : new LazyScript(text, isModule, lazy);
  }

  /** Bodies that no capture has needed are empty. */
  get ast(): Program {
    return this.#lazy.ast;
  }

  /** All classes outside unparsed bodies, with the outer names used by their field initializers. */
  get classes(): ScriptFacts['classes'] {
    return this.#facts.classes;
  }

  /** The number of bodies that aren't parsed. */
  get unparsed(): number {
    return this.#lazy.skipped.size;
  }

  /** Returns a top-level variable, like `functionAt`. */
  variable(name: string): Binding | CaptureRefusal | undefined {
    return this.#parsing(() => {
      const binding = this.#facts.program.bindings.get(name);
      if (binding) this.#findAssignments([binding]);
      return binding;
    });
  }

  /**
   * Returns the innermost function whose head contains the offset; undefined if there is none; a refusal if a required
   * body can't be parsed.
   */
  functionAt(offset: number): FunctionFacts | CaptureRefusal | undefined {
    return this.#parsing(() => {
      this.#fillAround(offset);
      let found: FunctionFacts | undefined;
      for (const facts of this.#facts.functions) {
        const { node } = facts;
        if (node.start > offset || offset > node.body.start) continue;
        if (found === undefined || node.start >= found.node.start) found = facts;
      }
      return found && this.#completed(found);
    });
  }

  /** Returns the class that begins at the offset, and the outer names of its fields, like `functionAt`. */
  classAt(
    offset: number,
  ): readonly [ClassNode, ReadonlyMap<string, Binding | undefined>] | CaptureRefusal | undefined {
    return this.#parsing(() => {
      this.#fillAround(offset);
      const found = [...this.classes].find(([node]) => node.start === offset);
      if (found) this.#findAssignments(found[1].free.values());
      return found && ([found[0], found[1].free] as const);
    });
  }

  /** Parses the whole script if a body can't be parsed by itself. */
  #parsing<T extends object>(find: () => T | undefined): T | CaptureRefusal | undefined {
    try {
      return find();
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      const ast = parseScript(this.#text, this.#isModule);
      if (isRefusal(ast)) return ast;
      this.#lazy = { ast, skipped: new Map(), fill: () => {} };
      this.#facts = analyzeScript(ast);
      this.#complete.clear();
      return find();
    }
  }

  /** Parses the bodies around an offset, but not other bodies inside them. */
  #fillAround(offset: number): void {
    for (const [start, end] of this.#lazy.skipped) {
      if (start < offset && offset < end) this.#fill(start);
    }
  }

  #fill(start: number): void {
    this.#lazy.fill(start, false);
    const { functions } = this.#facts;
    for (; this.#indexed < functions.length; this.#indexed++) {
      const facts = functions[this.#indexed]!;
      this.#byBody.set(facts.node.body.start, facts);
    }
    this.#facts.withBody(this.#byBody.get(start)!);
  }

  /** Parses what is inside a function, and the bodies that may assign its outer variables. */
  #completed(facts: FunctionFacts): FunctionFacts {
    const { node } = facts;
    let complete = this.#complete.get(node);
    if (!complete) {
      for (const [start] of this.#lazy.skipped) {
        if (node.start < start && start < node.end) this.#lazy.fill(start, true);
      }
      complete = this.#facts.withBody(facts);
      this.#complete.set(node, complete);
    }
    this.#findAssignments(complete.free.values());
    return complete;
  }

  /** Parses the bodies that mention one of the variables. A large script is searched once for each variable. */
  #findAssignments(variables: Iterable<Binding | undefined>): void {
    const variablesIn = new Map<Extent | undefined, Binding[]>();
    for (const each of variables) {
      if (!each || !isAssignable(each) || each.isSearched) continue;
      const { extent } = each.scope;
      variablesIn.set(extent, [...(variablesIn.get(extent) ?? []), each]);
    }
    for (const [extent, found] of variablesIn) {
      const mention = anyOf(found.map(({ name }) => name));
      for (const [start, end] of this.#lazy.skipped) {
        if (extent && (start < extent.start || extent.end < end)) continue;
        if (mention.test(this.#text.slice(start, end))) this.#fill(start);
      }
      for (const each of found) each.isSearched = true;
    }
  }
}

/** Matches the names as words; next to non-ASCII letters, also as parts of longer names. */
const anyOf = (names: readonly string[]): RegExp =>
  new RegExp(`(?<![\\w$])(?:${names.join('|').replaceAll('$', '\\$')})(?![\\w$])`);

const isAssignable = ({ kind }: Binding): boolean =>
  kind !== 'const' && kind !== 'import' && kind !== 'namespace' && kind !== 'self';
