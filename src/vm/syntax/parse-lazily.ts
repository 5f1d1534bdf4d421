import type * as acorn from 'acorn';
import { endOfBlock } from './end-of-block.ts';
import { Parser } from './parse.ts';

type FunctionNode = acorn.Function;

/** The parser members used here, which acorn's types omit. */
interface Reader {
  readonly options: acorn.Options;
  input: string;
  pos: number;
  start: number;
  strict: boolean;
  scopeStack: { readonly flags: number }[];
  next(): void;
  nextToken(): void;
  startNode(): acorn.Node;
  finishNode(node: acorn.Node, type: string): acorn.BlockStatement;
  enterScope(flags: number): void;
  exitScope(): void;
  parseFunctionBody(node: FunctionNode, ...how: unknown[]): void;
  parseClassMethod(method: acorn.MethodDefinition, ...how: unknown[]): void;
  parseClassField(field: acorn.PropertyDefinition): void;
}

/** acorn's types allow only the parser itself to create one. */
const Base = Parser as unknown as new (
  options: acorn.Options,
  text: string,
  from?: number,
) => Reader & { parse(): acorn.Program };

/** A program in which bodies of functions are empty blocks until they are needed. */
export interface LazyProgram {
  readonly ast: acorn.Program;
  /** The text of each body that isn't parsed yet: offsets of its brace and of its end. */
  readonly skipped: ReadonlyMap<number, number>;
  /**
   * Parses the body at an offset of `skipped`; if `whole`, also the bodies inside. Throws the parser's SyntaxError,
   * also if the body doesn't end where it seemed to.
   */
  fill(start: number, whole: boolean): void;
}

/**
 * Parses everything except the bodies of functions. Throws the parser's SyntaxError. Declarations outside skipped
 * bodies are complete. Assignments in skipped bodies are not seen, but their text spells out the names: bodies with
 * `eval`, `arguments` or escapes are parsed, and so are fields and private methods, whose names belong to their class.
 */
export function parseLazily(text: string, options: acorn.Options): LazyProgram {
  const bodies: SkippedBodies = new Map();
  const skipped = new Map<number, number>();
  const parser = new LazyParser(options, text, undefined, { bodies, skipped, whole: false });
  const ast = parser.parse();
  const fill = (start: number, whole: boolean): void => {
    bodies.get(start)!(whole);
    skipped.delete(start);
    bodies.delete(start);
  };
  return { ast, skipped, fill };
}

/** For each offset of a skipped body, the function that parses it. */
type SkippedBodies = Map<number, (whole: boolean) => void>;

interface Skipping {
  readonly bodies: SkippedBodies;
  readonly skipped: Map<number, number>;
  /** Set where nothing is skipped. */
  whole: boolean;
}

const isParsedAlways = /\b(?:eval|arguments)\b|\\u/;

class LazyParser extends Base {
  readonly #skipping: Skipping;

  constructor(options: acorn.Options, text: string, from: number | undefined, skipping: Skipping) {
    super(options, text, from);
    this.#skipping = skipping;
    // `endOfBlock` doesn't know these comments.
    if (options.sourceType === 'script' && /<!--|-->/.test(text)) skipping.whole = true;
  }

  override parseClassMethod(method: acorn.MethodDefinition, ...how: unknown[]): void {
    const isPrivate = method.key.type === 'PrivateIdentifier';
    this.#parseWhole(isPrivate, () => super.parseClassMethod(method, ...how));
  }

  override parseClassField(field: acorn.PropertyDefinition): void {
    this.#parseWhole(true, () => super.parseClassField(field));
  }

  #parseWhole(isWhole: boolean, parse: () => void): void {
    const skipping = this.#skipping;
    const { whole } = skipping;
    skipping.whole ||= isWhole;
    parse();
    skipping.whole = whole;
  }

  override parseFunctionBody(node: FunctionNode, ...how: unknown[]): void {
    const { input, start, strict, options } = this;
    const end = this.#endOfSkipped();
    if (end === undefined) {
      super.parseFunctionBody(node, ...how);
      return;
    }
    const { flags } = this.scopeStack.at(-1)!;
    const { bodies, skipped } = this.#skipping;
    skipped.set(start, end);
    bodies.set(start, (whole) => {
      const inside = new LazyParser(options, input, start, { bodies, skipped, whole });
      inside.strict = strict;
      inside.enterScope(flags);
      inside.nextToken();
      inside.#parseSkipped(node, how);
      if (node.body.end !== end) throw new SyntaxError(`the body at ${start} ends elsewhere`);
    });
    const body = Object.assign(this.startNode(), { body: [] });
    // The current token is the brace that opens the body.
    this.pos = end - 1;
    this.next();
    this.next();
    node.body = this.finishNode(body, 'BlockStatement');
    node.expression = false;
    this.exitScope();
  }

  #parseSkipped(node: FunctionNode, how: readonly unknown[]): void {
    super.parseFunctionBody(node, ...how);
  }

  /** Returns the end of the body at the current token; undefined if it has to be parsed. */
  #endOfSkipped(): number | undefined {
    const { input, start } = this;
    if (this.#skipping.whole || input[start] !== '{') return undefined;
    const end = endOfBlock(input, start);
    if (end === undefined || isParsedAlways.test(input.slice(start, end))) return undefined;
    return end;
  }
}
