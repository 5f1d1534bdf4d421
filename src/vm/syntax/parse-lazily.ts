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
  /**
   * Parses all bodies in a range of the text; returns whether there were any. Throws the parser's SyntaxError, also
   * if a body ends elsewhere than it seemed to.
   */
  fill(from: number, to: number): boolean;
}

/**
 * Parses everything except the bodies of functions. Throws the parser's SyntaxError. Declarations outside functions
 * are complete; assignments in function bodies are not seen.
 */
export function parseLazily(text: string, options: acorn.Options): LazyProgram {
  const parser = new LazyParser(options, text);
  const { skipped } = parser;
  const ast = parser.parse();
  const fill = (from: number, to: number): boolean => {
    const inside = [...skipped].filter(([start]) => from <= start && start < to);
    for (const [start, parseBody] of inside) {
      parseBody();
      skipped.delete(start);
    }
    return inside.length > 0;
  };
  return { ast, fill };
}

class LazyParser extends Base {
  /** For each offset of a skipped body, the function that parses it. */
  readonly skipped = new Map<number, () => void>();

  override parseFunctionBody(node: FunctionNode, ...how: unknown[]): void {
    const { input, start, strict, options } = this;
    const end = input[start] === '{' ? endOfBlock(input, start) : undefined;
    if (end === undefined) {
      super.parseFunctionBody(node, ...how);
      return;
    }
    const { flags } = this.scopeStack.at(-1)!;
    this.skipped.set(start, () => {
      const inside = new Base(options, input, start);
      inside.strict = strict;
      inside.enterScope(flags);
      inside.nextToken();
      inside.parseFunctionBody(node, ...how);
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
}
