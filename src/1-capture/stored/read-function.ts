import type { Code, SourceText } from '../../vm/bytecode/code.ts';
import { readCode } from '../../vm/stored/read-code.ts';
import { StoredReader } from '../../vm/stored/stored-reader.ts';
import type { FunctionOutline } from './function-outline.ts';
import { readOutline } from './read-outline.ts';

/** A function in lowered form. */
export interface StoredFunction {
  readonly outline: FunctionOutline;
  /** `name`: for a function without a name; `lower`: lowers the function's source, for positions. */
  code(name: string, source: SourceText, lower: () => Code): Code;
}

/** Reads what `storedFunctions` of the plugin wrote. */
export function readFunction(stored: string): StoredFunction {
  const from = StoredReader.open(stored);
  const outline = readOutline(from);
  return {
    outline,
    code: (name, source, lower) => readCode(from, outline.name ?? name, source, lower),
  };
}
