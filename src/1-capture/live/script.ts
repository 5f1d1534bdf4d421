import type { Options, Program } from 'acorn';
import {
  ownPartAt,
  ownPartOfFile,
  publishedScheme,
  sourceFolder,
} from '../../../runtime/errors/own-code.ts';
import type { SourceText } from '../../vm/bytecode/code.ts';
import { parse } from '../../vm/syntax/parse.ts';
import { privateElements } from '../script/analyze-class.ts';
import { analyzeScript, type ScriptFacts } from '../script/analyze-script.ts';
import type { Binding, FunctionFacts } from '../script/binding.ts';
import type { ClassNode, FunctionNode } from '../script/captured-function.ts';
import { type CaptureRefusal, refuse } from '../script/refusal.ts';
import { makeScriptText, type ScriptText } from '../script/script-text.ts';
import type { DebuggerSession, Location, RemoteProperty, ScriptInfo } from './debugger-session.ts';

/** A parsed and analysed script; all functions that come from it share this. */
export interface Script {
  readonly text: ScriptText;
  readonly facts: ScriptFacts;
  /** Only where the engine may know functions by other names. */
  readonly names?: ReadonlyMap<FunctionNode, string>;
  /** Its top-level names may be those of another script: evaluated text has no file of its own. */
  readonly evaluated: boolean;
  readonly isModule: boolean;
  /** Its statements and its URL, if the engine reported the script. */
  readonly body?: Program['body'];
  readonly url?: string;
}

/** The engine's description of a function, with its place in a script. */
export interface FoundFunction {
  readonly script: Script;
  readonly facts: FunctionFacts;
  readonly internal: readonly RemoteProperty[];
}

// Weak: a script stays parsed as long as a captured function of it lives (they refer to it).
const scripts = new Map<string, WeakRef<Script>>();
const forgotten = new FinalizationRegistry<string>((id) => {
  if (scripts.get(id)?.deref() === undefined) scripts.delete(id);
});

/** A script that a captured function of is live: nothing has to be asked about it. */
export const knownScript = (scriptId: string): Script | undefined => scripts.get(scriptId)?.deref();

/** The file that a script was loaded from, unchanged since. Undefined where that can't be told. */
export type FindScriptFile = (
  session: DebuggerSession,
  scriptId: string,
  internal: readonly RemoteProperty[],
) => (ScriptInfo & { readonly text: string }) | undefined;

/** Finds scripts without the debugger; there is none in pages (`src/node/script-files.ts`). */
export let findScriptFile: FindScriptFile = () => undefined;
export const provideScriptFiles = (find: FindScriptFile): void => {
  findScriptFile = find;
};

/** `source`: its text, if it is known. */
export function loadScript(
  session: DebuggerSession,
  info: ScriptInfo,
  source?: string,
): Script | CaptureRefusal {
  const { scriptId, isModule = false } = info;
  const scriptSource =
    source ?? session.post('Debugger.getScriptSource', { scriptId }).scriptSource;
  const text = makeScriptText({ text: scriptSource, ...info });
  const ast = parseScript(scriptSource, isModule);
  if ('refused' in ast) return ast;
  const facts = analyzeScript(ast);
  const { body } = ast;
  const script: Script = { text, facts, evaluated: info.url === '', isModule, body, url: info.url };
  scripts.set(scriptId, new WeakRef(script));
  forgotten.register(script, scriptId);
  return script;
}

/**
 * The text as the source of one function. In published files of tostatic, which users bundle with their own,
 * it is the place that tells whose function it is, and the file's name says so.
 */
export function sourceOf({ text, url }: Script, { node }: FunctionFacts): SourceText {
  if (url === undefined) return text;
  const { line, column } = text.lineAndColumnAt(node.start);
  const part =
    ownPartAt({ file: url, line: line + 1, column: column + 1 }) ??
    // Where stacks are led through source maps (tsx rewrites published files and maps them back), the original place.
    (sourceFolder === null ? ownPartAt(text.position(node.start)) : null);
  if (part === null || ownPartOfFile(text.file)) return text;
  return {
    file: `${publishedScheme}${part === 'runner' ? 'src' : 'runtime'}/`,
    text: text.text,
    position: (offset) => text.position(offset),
    line: (file, at) => text.line(file, at),
  };
}

/** Options of the parser for a whole script. */
export const scriptSyntax = (sourceType: 'module' | 'script'): Options => ({
  sourceType,
  ecmaVersion: 'latest',
  allowHashBang: true,
  // CommonJS bodies return, and evaluated text may stand inside a method or class.
  allowReturnOutsideFunction: true,
  allowSuperOutsideMethod: true,
  checkPrivateFields: false,
});

export function parseScript(text: string, isModule: boolean): Program | CaptureRefusal {
  const kinds = isModule ? (['module', 'script'] as const) : (['script', 'module'] as const);
  let message = '';
  for (const sourceType of kinds) {
    try {
      return parse(text, scriptSyntax(sourceType));
    } catch (error) {
      message ||= error instanceof Error ? error.message : String(error);
    }
  }
  return refuse('unparsable', `The parser says: ${message}`);
}

/**
 * The function at V8's location, which is its `(` (functions, methods, explicit constructors), its
 * first character (arrows), or the beginning of the class (classes without a constructor).
 */
export function findFunction(
  script: Script,
  at: Location,
  isClass: boolean,
): FunctionFacts | undefined {
  const offset = script.text.offsetAt(at.lineNumber, at.columnNumber);
  if (isClass) {
    for (const [node, fieldNames] of script.facts.classes) {
      if (node.start === offset) return implicitConstructor(node, fieldNames);
    }
  }
  let found: FunctionFacts | undefined;
  for (const facts of script.facts.functions) {
    const { node } = facts;
    if (node.start > offset || offset > node.body.start) continue;
    if (found === undefined || node.start >= found.node.start) found = facts;
  }
  return found;
}

const implicitConstructors = new WeakMap<ClassNode, FunctionFacts>();

/** Returns the facts about the constructor that the language gives a class without one. */
function implicitConstructor(
  classNode: ClassNode,
  fieldNames: ReadonlyMap<string, Binding | undefined>,
): FunctionFacts {
  const known = implicitConstructors.get(classNode);
  if (known) return known;
  const derived = classNode.superClass != null;
  const rest = derived ? '(...args) { super(...args) }' : '() {}';
  const program = parse(`(class extends Object { constructor${rest} })`, {
    ecmaVersion: 2022,
  });
  const synthetic = analyzeScript(program).functions[0];
  if (!synthetic) throw new Error('invariant: a synthetic constructor has one function');
  moveTo(synthetic.node, classNode.start);
  const facts = {
    ...synthetic,
    classNode,
    free: new Map(fieldNames),
    declared: new Set<string>(),
    privateNames: new Set(privateElements(classNode)),
  };
  implicitConstructors.set(classNode, facts);
  return facts;
}

function moveTo(node: FunctionNode, offset: number): void {
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if ('start' in value && 'end' in value) Object.assign(value, { start: offset, end: offset });
    for (const child of Object.values(value)) visit(child);
  };
  visit(node);
}
