import * as acorn from 'acorn';

/** The parser's members that are called and kept while it reads a `yield`; acorn's types leave them out. */
interface Reader {
  parseYield(...given: unknown[]): acorn.Expression;
  /** Whether a slash begins a regular expression. */
  exprAllowed: boolean;
}

/**
 * acorn 8.19 loses sight of the generator in methods and in `(async function* () { … })`, and then takes `yield /x/` in
 * them for a division. Where it parses a `yield`, an expression follows.
 *
 * It looks at patterns and flags of regular expressions no further than to where they end: the engine that runs the text
 * knows its own syntax, which would be a fifth of the parser. (The published files are without it: `build/bundle.ts`.)
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
