import type { Options, Program } from 'acorn';
import { parse } from '../../vm/syntax/parse.ts';
import { type CaptureRefusal, refuse } from './refusal.ts';

/** Parser options for a whole script. */
export const scriptSyntax = (sourceType: 'module' | 'script'): Options => ({
  sourceType,
  ecmaVersion: 'latest',
  allowHashBang: true,
  // CommonJS bodies contain `return`, and evaluated text may be inside a method or class.
  allowReturnOutsideFunction: true,
  allowSuperOutsideMethod: true,
  checkPrivateFields: false,
});

/** Parses a text as the kind that it should be, or otherwise as the other kind. */
export function parseScript<P extends object = Program>(
  text: string,
  isModule: boolean,
  parser: (text: string, options: Options) => P = parse as never,
): P | CaptureRefusal {
  const kinds = isModule ? (['module', 'script'] as const) : (['script', 'module'] as const);
  let message = '';
  for (const sourceType of kinds) {
    try {
      return parser(text, scriptSyntax(sourceType));
    } catch (error) {
      message ||= error instanceof Error ? error.message : String(error);
    }
  }
  return refuse('unparsable', `The parser says: ${message}`);
}
