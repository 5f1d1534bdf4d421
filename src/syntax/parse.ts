import * as acorn from 'acorn';

/** The tokenizer's idea of what is around the current token; acorn's types leave it out. */
interface Contexts {
  readonly type: acorn.TokenType;
  overrideContext(context: object): void;
}

const { f_expr_gen: generatorExpression } = (
  acorn as unknown as { readonly tokContexts: { readonly f_expr_gen: object } }
).tokContexts;

/**
 * acorn 8.19 forgets the star of `(async function* () { … })`, and then takes `yield /x/` in it for a division. The
 * star is the current token when it says what is around.
 */
const Parser = acorn.Parser.extend((Base) => {
  const overrideContext = (Base.prototype as unknown as Contexts).overrideContext;
  class Patched extends Base {}
  Object.assign(Patched.prototype, {
    overrideContext(this: Contexts, context: object): void {
      const isGenerator = this.type === acorn.tokTypes.star;
      overrideContext.call(this, isGenerator ? generatorExpression : context);
    },
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
