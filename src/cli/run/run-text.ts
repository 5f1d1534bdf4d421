import { Script } from 'node:vm';
import type { Options, Program } from 'acorn';
import { isLowerRefusal, type LowerRefusal, lowerScript } from '../../2-lower/lower.ts';
import { hoistedFunctions } from '../../2-lower/scopes/block-functions.ts';
import { scriptLexicals, varNames } from '../../2-lower/scopes/declarations.ts';
import { declaredFunction } from '../../2-lower/syntax/nodes.ts';
import type { Code, SourceText } from '../../vm/bytecode/code.ts';
import { verify } from '../../vm/bytecode/verify.ts';
import type { Execution } from '../../vm/machine/machine.ts';
import type { Realm, ScriptNames } from '../../vm/realm/realm.ts';
import { parse } from '../../vm/syntax/parse.ts';

/** Why the engine itself runs a script. */
export interface NativeRun {
  readonly reason: string;
  readonly line: number;
  readonly explanation: string;
}

/**
 * Runs a script in a realm: as bytecode, or natively if that is rejected. Throws the script's error; a SyntaxError is
 * thrown before anything runs.
 */
export function runText(
  realm: Realm,
  text: string,
  file: string,
  execution: Execution,
): NativeRun | undefined {
  // The engine detects every early error, the parser only some.
  new Script(text, { filename: file });
  const program = parse(text, options);
  const source = sourceOf(text, file);
  const code = lowerScript(program, source);
  if (isLowerRefusal(code)) {
    realm.evaluate(text, file);
    return nativeRun(code, source);
  }
  verify(code);
  realm.runScript(code, execution, namesOf(program, code));
  return undefined;
}

const options: Options = { ecmaVersion: 'latest', sourceType: 'script', allowHashBang: true };

function sourceOf(text: string, file: string): SourceText {
  const lines = text.split('\n');
  return {
    file,
    text,
    position(offset) {
      const before = text.slice(0, offset).split('\n');
      return { file, line: before.length, column: before.at(-1)!.length + 1 };
    },
    line: (_file, line) => lines[line - 1],
  };
}

function nativeRun({ reason, explanation, span }: LowerRefusal, source: SourceText): NativeRun {
  return { reason, explanation, line: source.position(span.start).line };
}

/** The script's names, which exist before its first statement, as in the engine. */
function namesOf(program: Program, { strict }: Code): ScriptNames {
  const body = program.body as Parameters<typeof hoistedFunctions>[0];
  const functions = body.flatMap((node) => declaredFunction(node)?.id.name ?? []);
  const variables = varNames(body).map(({ identifier }) => identifier.name);
  const hoisted = strict ? [] : hoistedFunctions(body, new Set()).map(({ id }) => id.name);
  return {
    functions: [...new Set(functions)],
    variables: [...new Set([...variables, ...hoisted])],
    lexicals: scriptLexicals(body),
  };
}
