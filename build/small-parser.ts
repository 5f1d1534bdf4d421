import type { Plugin } from 'rolldown';

/**
 * Drops a third of acorn, which the engine knows better: its checks of regular expressions (Unicode property names
 * and versions, and a parser of patterns), which `src/vm/syntax/parse.ts` doesn't use, and its tables of the
 * characters of names. Texts to be parsed come from the engine, so that its own tables decide. Nothing
 * here parses an older version of the language, or asks for ranges or parentheses: bundlers drop the code for them.
 */
export const smallParser: Plugin = {
  name: 'small-parser',
  transform: (code, id) =>
    id.endsWith('/acorn/dist/acorn.mjs') ? { code: withoutTables(code) } : null,
};

export function withoutTables(code: string): string {
  const replacements: readonly (readonly [RegExp, string])[] = [
    [/^var scriptValuesAddedInUnicode.*?(?=^\/\/ Object type used to represent tokens)/ms, noState],
    [/^var (?:astralIdentifier|nonASCIIidentifier)(?:Start)?(?:Codes|Chars) = .*\n/gm, ''],
    [/^var nonASCIIidentifierStart = .*?^function isInAstralSet.*?^}\n/ms, ownCharacters],
    [/\b(?:this|p|parser)\.options\.(?:ranges|preserveParens)(?!\()/g, 'false'],
    [/\bthis\.options\.ecmaVersion >=? \d+/g, 'true'],
    [/\bthis\.options\.ecmaVersion (?:<|===) \d+/g, 'false'],
  ];
  return replacements.reduce((text, [pattern, replacement]) => {
    const replaced = text.replace(pattern, () => replacement);
    if (replaced === text) throw new Error(`acorn has nothing like ${pattern}`);
    return replaced;
  }, code);
}

const noState =
  'function RegExpValidationState() {}\nRegExpValidationState.prototype.reset = () => {};\n';

const ownCharacters = `
var nonASCIIidentifierStart = /\\p{ID_Start}/u;
var nonASCIIidentifier = /[\\p{ID_Continue}\\u200c\\u200d]/u;
var astralIdentifierStartCodes = nonASCIIidentifierStart;
var astralIdentifierCodes = nonASCIIidentifier;
// The code is NaN at the end of the text.
function isInAstralSet(code, set) { return code >= 0 && set.test(String.fromCodePoint(code)) }
`;
