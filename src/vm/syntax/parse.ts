import * as acorn from 'acorn';

/** Members of the parser that are wrapped to read a `yield`; acorn's types omit them. */
interface Reader {
  parseYield(...given: unknown[]): acorn.Expression;
  /** Whether a slash starts a regular expression. */
  exprAllowed: boolean;
}

/**
 * acorn 8.19 forgets in methods and in `(async function* () { … })` that it is in a generator, and then parses
 * `yield /x/` as a division. After a `yield`, an expression follows.
 *
 * Patterns and flags of regular expressions are only scanned to their end: the engine that runs the text validates
 * them, which would be a fifth of the parser. (The published files omit it: `build/bundle.ts`.)
 */
export const Parser = acorn.Parser.extend((Base) => {
  const { parseYield } = Base.prototype as unknown as Reader;
  class Patched extends Base {}
  Object.assign(Patched.prototype, {
    parseYield(this: Reader, ...given: unknown[]): acorn.Expression {
      this.exprAllowed = true;
      return parseYield.apply(this, given);
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
