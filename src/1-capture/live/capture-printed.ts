import type { SourceText } from '../../vm/bytecode/code.ts';
import { analyzeScript } from '../script/analyze-script.ts';
import type { FunctionFacts, OuterNames } from '../script/binding.ts';
import type { AnyFunction, CapturedFunction } from '../script/captured-function.ts';
import { givenScope } from '../script/given-scope.ts';
import { implicitConstructor } from '../script/implicit-constructor.ts';
import { parseScript } from '../script/parse-script.ts';
import { type CaptureRefusal, refuse } from '../script/refusal.ts';
import { makeScriptText } from '../script/script-text.ts';
import { standardGlobals } from '../script/standard-globals.ts';

/**
 * The route without the inspector: source from `toString`, outer variables from the `scope` option. Without the
 * option, only functions that use nothing but standard globals can be captured.
 */
export function capturePrinted(
  fn: AnyFunction,
  scope: Readonly<Record<string, unknown>> | undefined,
): CapturedFunction | CaptureRefusal {
  const printed = Function.prototype.toString.call(fn);
  if (isNativeText(printed)) {
    const bound = fn.name.startsWith('bound ');
    return refuse(
      bound ? 'bound' : 'native',
      `${fn.name || 'The function'} prints as native code.`,
    );
  }
  const parsed = parsePrinted(printed);
  if ('refused' in parsed) return parsed;
  const { facts, text, before } = parsed;
  const source = makeScriptText({ text, url: '', startColumn: -before });
  const { start } = facts.node;
  const strict = facts.strict || !isSloppy(fn);
  return captureGiven(fn, { ...facts, strict, start, syntax: () => facts }, source, scope);
}

type GivenFacts = OuterNames &
  Pick<FunctionFacts, 'usesThis'> &
  Pick<CapturedFunction, 'kind' | 'strict' | 'start' | 'syntax' | 'code'>;

/** Captures a function of known source, with outer variables from the `scope` option. */
export function captureGiven(
  fn: AnyFunction,
  facts: GivenFacts,
  source: SourceText,
  scope: Readonly<Record<string, unknown>> | undefined,
): CapturedFunction | CaptureRefusal {
  const isKnown = (name: string): boolean =>
    scope
      ? Object.hasOwn(scope, name) || name in globalThis
      : standardGlobals.has(name) && name in globalThis;
  const names = [...facts.free.keys()].filter((name) => !isKnown(name));
  if (names.includes('__tostatic')) {
    return refuse('unsafe-entry', 'Another build step puts code before the probe.');
  }
  if (names.length > 0) {
    return refuse('no-scope', `Outer variables that can't be read: ${names.join(', ')}.`, names);
  }
  if (facts.kind === 'arrow' && facts.usesThis && !scope) {
    return refuse('no-scope', "The `this` of an arrow function can't be read.", ['this']);
  }

  return {
    fn,
    route: scope ? 'option' : 'globals',
    name: fn.name,
    kind: facts.kind,
    source,
    start: facts.start,
    syntax: facts.syntax,
    code: facts.code,
    scope: givenScope(scope ?? {}),
    freeNames: [...facts.free.keys()],
    ...(facts.kind === 'arrow' &&
      scope &&
      'this' in scope && { thisValue: { value: scope['this'] } }),
    ...(facts.kind === 'constructor' && { homeObject: fn.prototype as object }),
    strict: facts.strict,
  };
}

interface Printed {
  readonly facts: FunctionFacts;
  readonly text: string;
  /** The number of characters put before the printed text to make it an expression. */
  readonly before: number;
}

/** A method is printed without its object or class, so it is parsed inside one. */
export function parsePrinted(printed: string): Printed | CaptureRefusal {
  let refusal: CaptureRefusal | undefined;
  for (const [before, after] of [
    ['(', '\n)'],
    ['({', '\n})'],
    ['(class {', '\n})'],
  ] as const) {
    const text = before + printed + after;
    const ast = parseScript(text, false);
    if ('refused' in ast) {
      refusal ??= ast;
      continue;
    }
    const script = analyzeScript(ast);
    const [classNode] = script.classes.keys();
    const isClass = before === '(' && classNode?.start === before.length;
    const facts = isClass
      ? (script.functions.find((candidate) => candidate.classNode === classNode) ??
        implicitConstructor(classNode, script.classes.get(classNode)!.free))
      : script.functions[0];
    if (facts) return { facts, text, before: before.length };
  }
  return refusal ?? refuse('no-source', 'The printed text of the function cannot be parsed.');
}

export const isNativeText = (printed: string): boolean =>
  /\{\s*\[native code\]\s*\}\s*$/.test(printed);

/** V8 gives these own properties only to sloppy plain functions; all other functions are treated as strict. */
const isSloppy = (fn: AnyFunction): boolean => Object.hasOwn(fn, 'caller');
