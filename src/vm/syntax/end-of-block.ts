/**
 * Text that neither opens nor closes a block: code, strings and comments. A slash without another one in its line is a
 * division, since a regular expression would end there.
 */
const others =
  /(?:[^"'`/{}]+|"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|\/\/.*|\/\*[\s\S]*?\*\/|\/(?=[^/\n\r\u2028\u2029]*(?:[\n\r\u2028\u2029]|$)))*/y;
/** A template, or the text after a substitution, up to the next substitution or the end. */
const template = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?:`|\$\{)/y;

/**
 * Returns the offset after the brace that closes the block at `open`; undefined if that takes a parser, since a
 * slash may divide or begin a regular expression.
 */
export function endOfBlock(text: string, open: number): number | undefined {
  let at = open + 1;
  for (;;) {
    at = skipped(others, text, at) ?? at;
    switch (text[at]) {
      case '{': {
        const end = endOfBlock(text, at);
        if (end === undefined) return undefined;
        at = end;
        break;
      }
      case '}':
        return at + 1;
      case '`': {
        const end = endOfTemplate(text, at);
        if (end === undefined) return undefined;
        at = end;
        break;
      }
      default:
        return undefined;
    }
  }
}

function endOfTemplate(text: string, open: number): number | undefined {
  let at = skipped(template, text, open + 1);
  while (at !== undefined && text[at - 1] === '{') {
    const end = endOfBlock(text, at - 1);
    at = end === undefined ? undefined : skipped(template, text, end);
  }
  return at;
}

function skipped(pattern: RegExp, text: string, from: number): number | undefined {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}
