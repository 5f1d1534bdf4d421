import * as acorn from 'acorn';

/** Members of the parser that are replaced; acorn's types omit them. */
interface Reader {
  readonly start: number;
  readonly startLoc: unknown;
  readonly input: string;
  pos: number;
  containsEsc: boolean;
  parseYield(...args: unknown[]): acorn.Expression;
  readWord1(): string;
  startNodeAt(position: number, location: unknown): acorn.Node;
  /** Whether a slash starts a regular expression. */
  exprAllowed: boolean;
}

/** acorn's types don't declare the class. */
const { Node } = acorn as unknown as {
  Node: (this: acorn.Node, parser: Reader, position: number, location: unknown) => void;
};

/** A node that inherits nothing: a missing field is undefined, even if a page added it to `Object.prototype`. */
function BareNode(this: acorn.Node, ...args: Parameters<typeof Node>): void {
  Node.apply(this, args);
}
BareNode.prototype = Object.create(null) as object;
/** A whole name without escapes and characters beyond ASCII. */
const plainWord = /[\w$]+(?![\w$\\\x80-\uffff])/y;

const NodeConstructor = BareNode as unknown as new (...args: Parameters<typeof Node>) => acorn.Node;

/**
 * acorn 8.19 forgets in methods and in `(async function* () { … })` that it is in a generator, and then parses
 * `yield /x/` as a division. After a `yield`, an expression follows.
 *
 * Regular expressions are only scanned to their end: the engine that runs the text validates patterns and flags. Their
 * validation would be a fifth of the parser. (The published files omit it: `build/bundle.ts`.)
 */
export const Parser = acorn.Parser.extend((Base) => {
  const { parseYield, readWord1 } = Base.prototype as unknown as Reader;
  class Patched extends Base {}
  Object.assign(Patched.prototype, {
    parseYield(this: Reader, ...args: unknown[]): acorn.Expression {
      this.exprAllowed = true;
      return parseYield.apply(this, args);
    },
    /** acorn's own, which looks up each character in tables, was a tenth of a parse. */
    readWord1(this: Reader): string {
      const { input, pos } = this;
      plainWord.lastIndex = pos;
      if (!plainWord.test(input)) return readWord1.call(this);
      this.containsEsc = false;
      this.pos = plainWord.lastIndex;
      return input.slice(pos, this.pos);
    },
    startNode(this: Reader): acorn.Node {
      return new NodeConstructor(this, this.start, this.startLoc);
    },
    startNodeAt(this: Reader, position: number, location: unknown): acorn.Node {
      return new NodeConstructor(this, position, location);
    },
    copyNode(this: Reader, node: acorn.Node): acorn.Node {
      return Object.assign(this.startNodeAt(node.start, this.startLoc), node);
    },
    validateRegExpFlags() {},
    validateRegExpPattern() {},
  });
  return Patched;
});

export const parse = (text: string, options: acorn.Options): acorn.Program =>
  Parser.parse(text, options);

export const parseExpressionAt = (
  text: string,
  offset: number,
  options: acorn.Options,
): acorn.Expression => Parser.parseExpressionAt(text, offset, options);
