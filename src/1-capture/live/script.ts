import {
  mayBePublished,
  ownPartAt,
  ownPartOfFile,
  sourceFolder,
} from '../../../runtime/errors/own-code.ts';
import type { SourceText } from '../../vm/bytecode/code.ts';
import type { FunctionFacts } from '../script/binding.ts';
import { implicitConstructor } from '../script/implicit-constructor.ts';
import { LazyScript } from '../script/lazy-script.ts';
import { runnerFile, runtimeFile } from '../script/own-files.ts';
import { type CaptureRefusal, isRefusal } from '../script/refusal.ts';
import { makeScriptText, type ScriptText } from '../script/script-text.ts';
import type { DebuggerSession, Location, RemoteProperty, ScriptInfo } from './debugger-session.ts';

/** A script, shared by all of its functions. */
export interface Script {
  readonly text: ScriptText;
  readonly syntax: LazyScript;
  /** True for evaluated text, which has no file: its top-level names may be those of another script. */
  readonly evaluated: boolean;
  readonly isModule: boolean;
  readonly url: string;
}

/** The engine's description of a function, and the function's script. */
export interface FoundFunction {
  readonly script: Script;
  readonly facts: FunctionFacts;
  readonly internal: readonly RemoteProperty[];
}

// Weak: a script lives as long as one of its captured functions, which refer to it.
const scripts = new Map<string, WeakRef<Script>>();
const forgotten = new FinalizationRegistry<string>((id) => {
  if (scripts.get(id)?.deref() === undefined) scripts.delete(id);
});

/** Returns a script with a live captured function, without any requests to the engine. */
export const knownScript = (scriptId: string): Script | undefined => scripts.get(scriptId)?.deref();

/** Returns the unmodified file that a script was loaded from; undefined if that is unknown. */
type FindScriptFile = (
  session: DebuggerSession,
  scriptId: string,
  internal: readonly RemoteProperty[],
) => (ScriptInfo & { readonly text: string }) | undefined;

/** Finds scripts without the debugger; not available in pages (`src/node/script-files.ts`). */
export let findScriptFile: FindScriptFile = () => undefined;
export const provideScriptFiles = (find: FindScriptFile): void => {
  findScriptFile = find;
};

/** `source`: the script's text, if it is known. */
export function loadScript(
  session: DebuggerSession,
  info: ScriptInfo,
  source?: string,
): Script | CaptureRefusal {
  const { scriptId, isModule = false } = info;
  const scriptSource =
    source ?? session.post('Debugger.getScriptSource', { scriptId }).scriptSource;
  const text = makeScriptText({ text: scriptSource, ...info });
  const syntax = LazyScript.parse(scriptSource, isModule);
  if (isRefusal(syntax)) return syntax;
  const { url } = info;
  const script: Script = { text, syntax, evaluated: url === '', isModule, url };
  scripts.set(scriptId, new WeakRef(script));
  forgotten.register(script, scriptId);
  return script;
}

/**
 * Returns the text as the source of one function. In published files of tostatic that users bundle with their own, the
 * position determines who owns the function, which the file's name shows.
 */
export function sourceOf({ text, url }: Script, { node }: FunctionFacts): SourceText {
  if (!mayBePublished(text.text)) return text;
  const { line, column } = text.lineAndColumnAt(node.start);
  const part =
    ownPartAt({ file: url, line: line + 1, column: column + 1 }) ??
    // If source maps map stacks (tsx rewrites published files and maps them back), the original position decides.
    (sourceFolder === null ? ownPartAt(text.position(node.start)) : null);
  if (part === null || ownPartOfFile(text.file)) return text;
  return {
    file: part === 'runner' ? runnerFile : runtimeFile,
    text: text.text,
    position: (offset) => text.position(offset),
    line: (file, at) => text.line(file, at),
  };
}

/**
 * Returns the function at V8's location: its `(` (functions, methods, explicit constructors), its first character
 * (arrows), or the start of the class (classes without a constructor).
 */
export function findFunction(
  { syntax, text }: Script,
  at: Location,
  isClass: boolean,
): FunctionFacts | CaptureRefusal | undefined {
  const offset = text.offsetAt(at.lineNumber, at.columnNumber);
  const found = isClass ? syntax.classAt(offset) : undefined;
  if (!found) return syntax.functionAt(offset);
  return 'refused' in found ? found : implicitConstructor(...found);
}
