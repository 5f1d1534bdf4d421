import type { Program } from 'acorn';
import type { ScriptFacts } from '../1-capture/script/analyze-script.ts';
import type { FunctionFacts } from '../1-capture/script/binding.ts';
import { functionNames } from '../1-capture/script/function-names.ts';
import { outlineOf } from '../1-capture/stored/function-outline.ts';
import type { StoredFunctions } from '../1-capture/stored/stored-functions.ts';
import { writeOutline } from '../1-capture/stored/write-outline.ts';
import { isLowerRefusal, lowerFunction } from '../2-lower/lower.ts';
import type { SourceText } from '../vm/bytecode/code.ts';
import { verify } from '../vm/bytecode/verify.ts';
import { StoredWriter } from '../vm/stored/stored-writer.ts';
import { writeCode } from '../vm/stored/write-code.ts';

/**
 * In: functions of a module, which has been parsed and analyzed. Out: each in lowered form, verified, without
 * positions. Omits functions that can't be lowered, constructors, which are lowered with their class, and inner
 * functions, which are part of outer ones and rarely captured separately: captures lower these.
 */
export function storedFunctions(
  functions: readonly FunctionFacts[],
  ast: Program,
  script: ScriptFacts,
  text: string,
): StoredFunctions {
  const names = functionNames(ast);
  const source = sourceOf(text);
  const stored: Record<number, string> = {};
  for (const facts of functions) {
    const { node, kind, strict, enclosing } = facts;
    if (enclosing) continue;
    const outline = outlineOf(facts, script, names);
    const code = lowerFunction(node, source, kind, strict, outline.name ?? '', true);
    if (isLowerRefusal(code)) continue;
    verify(code);
    const writer = new StoredWriter();
    writeOutline(outline, writer);
    writeCode(code, false, writer);
    stored[node.start] = writer.finish();
  }
  return stored;
}

/** Lowering stores positions as offsets, so that only the text counts. */
const sourceOf = (text: string): SourceText => ({
  file: '',
  text,
  position: (offset) => ({ file: '', line: 1, column: offset + 1 }),
  line: () => undefined,
});
