import { listScopes } from '../1-capture/live/capture-snapshot.ts';
import type { CallFrame, DebuggerSession } from '../1-capture/live/debugger-session.ts';
import { provideScriptFiles } from '../1-capture/live/script.ts';
import { builtinModule } from '../1-capture/script/builtin-module.ts';

/**
 * Finds the text of a running script, such as the caller of a captured function, in its file. The debugger could return
 * the text of any script, but enabling it reports every script of the process, which takes longer than the rest of a
 * capture. The engine's hash of the text shows whether the file is what was loaded: a loader may have changed the text,
 * or an editor the file.
 */
provideScriptFiles((session, scriptId, internal) => {
  const [fs, crypto, path, url] = [
    builtinModule('node:fs'),
    builtinModule('node:crypto'),
    builtinModule('node:path'),
    builtinModule('node:url'),
  ];
  if (!fs || !crypto || !path || !url) return undefined;
  const file = urlOf(runningScripts(session), scriptId);
  if (!file?.startsWith('file:')) return undefined;
  // CommonJS scripts have paths as names.
  const isFile = (name: string | null): boolean =>
    name === file ||
    (name !== null && path.isAbsolute(name) && url.pathToFileURL(name).href === file);
  const sites = callSites().filter((site) => isFile(site.getScriptNameOrSourceURL()));
  const hashes = new Set(sites.map((site) => site.getScriptHash()));
  if (hashes.size !== 1) return undefined;
  try {
    const bytes = fs.readFileSync(url.fileURLToPath(file));
    const text = bytes.toString('utf8');
    // The engine decides which of several comments counts as a source map.
    if (/source(?:Mapping)?URL=/.test(text)) return undefined;
    const hash = crypto.createHash('sha256').update(bytes).digest('hex');
    if (!hashes.has(hash)) return undefined;
    // The engine lists a module's variables among the scopes of its functions.
    const scopes = listScopes(session, internal);
    const isModule = scopes.some(({ description }) => description === 'Module');
    return { scriptId, url: file, text, isModule, startLine: 0, startColumn: 0 };
  } catch {
    return undefined; // no longer readable
  }
});

/** The frames of all active calls, as the inspector sees them. */
function runningScripts(session: DebuggerSession): readonly CallFrame[] {
  session.post('Runtime.enable');
  try {
    // The inspector lists as many frames as allowed only for thrown primitives.
    const { exceptionDetails } = session.post('Runtime.evaluate', {
      expression: 'throw 0',
      silent: true,
    });
    return exceptionDetails?.stackTrace?.callFrames ?? [];
  } finally {
    session.post('Runtime.disable');
  }
}

/** The URL of a script, unless another script in the frames shares it. */
function urlOf(frames: readonly CallFrame[], scriptId: string): string | undefined {
  const url = frames.find((frame) => frame.scriptId === scriptId)?.url;
  const isShared = frames.some((frame) => frame.url === url && frame.scriptId !== scriptId);
  return isShared ? undefined : url;
}

interface CallSite {
  getScriptNameOrSourceURL(): string | null;
  getScriptHash(): string;
}

const deepest = 200;

/** Returns the call sites on the stack, with the hashes of their scripts. */
function callSites(): readonly CallSite[] {
  const { prepareStackTrace, stackTraceLimit } = Error;
  const holder: { stack?: readonly CallSite[] } = {};
  try {
    Error.stackTraceLimit = deepest;
    Error.prepareStackTrace = (_, sites) => sites;
    Error.captureStackTrace(holder);
    return holder.stack ?? [];
  } catch {
    return []; // `Error` is frozen
  } finally {
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit);
    if (prepareStackTrace) Reflect.set(Error, 'prepareStackTrace', prepareStackTrace);
    else Reflect.deleteProperty(Error, 'prepareStackTrace');
  }
}
