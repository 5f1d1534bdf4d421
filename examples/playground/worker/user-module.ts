/**
 * Runs the user's text without `eval`: strips types, resolves imports of the library, and executes the module as
 * bytecode. So the page needs no `'unsafe-eval'`, and every function is captured from that bytecode.
 */

import { TraceMap } from '@jridgewell/trace-mapping';
import { transform } from 'sucrase';
import { ArgumentError } from '../../../runtime/errors/errors.ts';
import { givenScope } from '../../../src/1-capture/script/given-scope.ts';
import {
  type FunctionNode,
  isLowerRefusal,
  type LowerRefusal,
  lowerFunction,
} from '../../../src/2-lower/lower.ts';
import type { SourcePosition, SourceText } from '../../../src/vm/bytecode/code.ts';
import { activate } from '../../../src/vm/frames/activation.ts';
import { closureOf, instantiate, runFrames } from '../../../src/vm/machine/run-frames.ts';
import { moduleBody } from './module-body.ts';
import { offsetOf, originalPlace, parsed, placeOf, syntaxError, TextError } from './text-places.ts';

export const fileName = 'playground.ts';

export interface UserModule {
  readonly exports: Readonly<Record<string, unknown>>;
}

/**
 * Executes the module; `print` receives its log. Throws TextError for text that can't be parsed, linked or lowered, and
 * whatever the module throws.
 */
export function evaluate(text: string, print: (line: string) => void): UserModule {
  const { code: script, sourceMap } = strippedOfTypes(text);
  const map = new TraceMap(sourceMap as never);
  const { text: body, imported, exported } = moduleBody(script, (at) => originalPlace(map, at));
  const results = exported.map((name) => `${JSON.stringify(name)}: ${name}`).join(', ');
  // The wrapper is on separate lines, so that the user's lines keep their columns.
  const whole = `(function () {\n${body}\nreturn { ${results} };\n})`;
  const source = sourceText(whole, text, map);
  const code = lowerFunction(functionIn(whole, source), source, 'function', true, 'module');
  if (isLowerRefusal(code)) throw refusalError(code, source);
  const log = (...values: unknown[]) => print(values.map(String).join(' '));
  const scope = givenScope({ console: { log, info: log, warn: log, error: log }, ...imported });
  const run = instantiate(code, scope, [], undefined);
  return { exports: callOfUser(run) as Record<string, unknown> };
}

/** Calls a function of the module. An exception has the user's lines in its stack. */
export function callOfUser(fn: (...args: never[]) => unknown): unknown {
  const closure = closureOf(fn);
  return closure ? runFrames([activate(closure, undefined, [])], { enterCall }) : fn();
}

/** Runs inner calls in the same stack of frames, so that their lines are known, too. */
function enterCall(callee: unknown, thisValue: unknown, args: readonly unknown[]) {
  const closure = closureOf(callee);
  return closure && !closure.code.isAsync && !closure.code.isGenerator
    ? { closure, thisValue, args }
    : undefined;
}

function strippedOfTypes(text: string) {
  try {
    return transform(text, {
      transforms: ['typescript'],
      disableESTransforms: true,
      filePath: fileName,
      sourceMapOptions: { compiledFilename: fileName },
    });
  } catch (error) {
    throw syntaxError(error, (at) => at);
  }
}

function functionIn(whole: string, source: SourceText): FunctionNode {
  const { body } = parsed(whole, 'script', (at) => source.position(offsetOf(whole, at)));
  const [statement] = body;
  if (
    statement?.type === 'ExpressionStatement' &&
    statement.expression.type === 'FunctionExpression'
  ) {
    return statement.expression;
  }
  throw new ArgumentError({
    what: 'playground: the module is not one function',
    given: statement?.type ?? 'nothing',
    expected: 'a function expression',
    remedy: 'balance the brackets of the text',
  });
}

function refusalError({ explanation, span }: LowerRefusal, source: SourceText): TextError {
  return new TextError(explanation, source.position(span.start));
}

/** Maps positions through the stripped text to the text that the user sees. */
function sourceText(whole: string, typed: string, map: TraceMap): SourceText {
  const lines = typed.split('\n');
  return {
    file: fileName,
    text: whole,
    position(offset): SourcePosition {
      const { line, column } = placeOf(whole, offset);
      // Without the wrapper's first line.
      return { file: fileName, ...originalPlace(map, { line: Math.max(1, line - 1), column }) };
    },
    line: (_file, line) => lines[line - 1],
  };
}
