import type { Session } from 'node:inspector';
import { builtinModule } from '../script/builtin-module.ts';

/** The part of the DevTools protocol that captures use. */
interface Protocol {
  'Debugger.enable': [{ maxScriptsCacheSize?: number }, unknown];
  'Debugger.disable': [undefined, unknown];
  'Debugger.setSkipAllPauses': [{ skip: boolean }, unknown];
  'Debugger.getScriptSource': [{ scriptId: string }, { scriptSource: string }];
  'Debugger.getPossibleBreakpoints': [
    { start: Location; end?: Location; restrictToFunction?: boolean },
    { locations: Location[] },
  ];
  'Debugger.setBreakpoint': [{ location: Location; condition: string }, { breakpointId: string }];
  'Debugger.setBreakpointOnFunctionCall': [
    { objectId: string; condition: string },
    { breakpointId: string },
  ];
  'Debugger.removeBreakpoint': [{ breakpointId: string }, unknown];
  'Runtime.enable': [undefined, unknown];
  'Runtime.disable': [undefined, unknown];
  'Runtime.evaluate': [
    { expression: string; objectGroup?: string; silent?: boolean },
    { result: RemoteObject; exceptionDetails?: { stackTrace?: { callFrames: CallFrame[] } } },
  ];
  'Runtime.callFunctionOn': [
    { objectId: string; functionDeclaration: string; arguments: RemoteObject[] },
    unknown,
  ];
  'Runtime.getProperties': [
    { objectId: string; ownProperties?: boolean },
    { result: RemoteProperty[]; internalProperties?: RemoteProperty[] },
  ];
  'Runtime.releaseObjectGroup': [{ objectGroup: string }, unknown];
  'Runtime.terminateExecution': [undefined, unknown];
}

/** 0-based, in V8's coordinates. */
export interface Location {
  readonly scriptId: string;
  readonly lineNumber: number;
  readonly columnNumber: number;
}

export interface CallFrame {
  readonly scriptId: string;
  readonly url: string;
}

interface RemoteObject {
  readonly objectId?: string;
  readonly value?: unknown;
  readonly unserializableValue?: string;
  readonly description?: string;
}

export interface RemoteProperty {
  readonly name: string;
  readonly value?: RemoteObject;
}

export interface ScriptInfo {
  readonly scriptId: string;
  readonly url: string;
  readonly startLine: number;
  readonly startColumn: number;
  readonly isModule?: boolean | undefined;
  readonly sourceMapURL?: string | undefined;
}

/** A table on the global object through which code in the debugger reaches this module. It exists during sessions. */
interface Handover {
  /** Passes a value into the debugger (`handover.value`) and back. */
  value: unknown;
  hit: (evaluate: (source: string) => unknown) => void;
  run: () => void;
}

const nothing = (): void => {};

export const handoverName = '__tostaticCapture';
const objectGroup = 'tostatic-capture';

/** Whether a session didn't respond: sessions of this runtime never will. */
let isMute = false;

/** A connected inspector session. All of its methods are synchronous. */
export class DebuggerSession {
  readonly #scripts = new Map<string, ScriptInfo>();
  /** Sealed: when a test file ends, Jest replaces the properties of all objects reachable from its global object. */
  readonly handover: Handover = Object.seal({ value: undefined, hit: nothing, run: nothing });
  readonly #realms = new Set<object>();
  #isResting = false;
  #isDebugging = false;
  #msToDebug = 0;

  private constructor(readonly session: Session) {}

  static open(): DebuggerSession | undefined {
    if (isMute) return undefined;
    try {
      const inspector = builtinModule('node:inspector');
      if (!inspector) return undefined;
      const session = new inspector.Session();
      session.connect();
      const opened = new DebuggerSession(session);
      session.on('Debugger.scriptParsed', ({ params }) => {
        opened.#scripts.set(params.scriptId, params);
      });
      opened.reachFrom(globalThis);
      // The inspector evaluates in the main realm, but test runners may load this file in another realm.
      opened.reachFrom(realmOf(inspector.Session));
      if (opened.#respondsImmediately()) return opened;
      isMute = true;
      opened.rest();
      session.disconnect();
      return undefined;
    } catch {
      return undefined; // forbidden (--permission), or missing in this build
    }
  }

  /** Captures are synchronous, but sessions of Deno and Bun respond later or never. */
  #respondsImmediately(): boolean {
    const expression = handoverName;
    const response: { result?: RemoteObject } | undefined = this.post('Runtime.evaluate', {
      expression,
      objectGroup,
    });
    return response?.result?.objectId !== undefined;
  }

  post<M extends keyof Protocol>(method: M, params?: Protocol[M][0]): Protocol[M][1] {
    let failure: Error | null = null;
    let result: unknown;
    this.session.post(method, params as object | undefined, (error, value) => {
      failure = error;
      result = value;
    });
    if (failure) throw failure;
    return result as Protocol[M][1];
  }

  /**
   * Enables the Debugger domain until the session ends. The engine then reports all its scripts with their inline
   * source maps, which takes 4 ms in a small program and more than 100 ms in a large one. Functions of known
   * scripts don't need it.
   */
  debug(): void {
    if (this.#isDebugging) return;
    this.#isDebugging = true;
    const start = performance.now();
    this.post('Debugger.enable', { maxScriptsCacheSize: 0 });
    // Conditions of breakpoints are still evaluated, but a user's `debugger` statement must not pause this
    // session.
    this.post('Debugger.setSkipAllPauses', { skip: true });
    this.#msToDebug = performance.now() - start;
  }

  /** The time that enabling the debugger took; 0 while it is disabled. */
  get msToDebug(): number {
    return this.#msToDebug;
  }

  script(scriptId: string): ScriptInfo | undefined {
    this.debug();
    return this.#scripts.get(scriptId);
  }

  /** Makes the hand-over table visible to code in this realm. */
  reachFrom(realm: object | undefined): void {
    if (realm === undefined || this.#realms.has(realm)) return;
    Object.defineProperty(realm, handoverName, { value: this.handover, configurable: true });
    this.#realms.add(realm);
  }

  /** Removes the table from the global objects until `wake`. */
  rest(): void {
    for (const realm of this.#realms) Reflect.deleteProperty(realm, handoverName);
    this.#isResting = true;
  }

  wake(): void {
    if (!this.#isResting) return;
    this.#isResting = false;
    const realms = [...this.#realms];
    this.#realms.clear();
    for (const realm of realms) this.reachFrom(realm);
  }

  remote(value: object): string {
    this.handover.value = value;
    const expression = `${handoverName}.value`;
    const { result } = this.post('Runtime.evaluate', { expression, objectGroup });
    this.handover.value = undefined;
    return result.objectId ?? '';
  }

  /** Returns the value that the inspector describes. */
  local(holder: string, remote: RemoteObject): unknown {
    const functionDeclaration = `function (v) { ${handoverName}.value = v }`;
    this.post('Runtime.callFunctionOn', {
      objectId: holder,
      functionDeclaration,
      arguments: [argumentFor(remote)],
    });
    const value = this.handover.value;
    this.handover.value = undefined;
    return value;
  }

  properties(objectId: string): { own: RemoteProperty[]; internal: RemoteProperty[] } {
    const found = this.post('Runtime.getProperties', { objectId, ownProperties: true });
    return { own: found.result, internal: found.internalProperties ?? [] };
  }

  /** Releases all objects that the inspector retains for this session. */
  release(): void {
    this.handover.value = undefined;
    this.handover.hit = nothing;
    this.handover.run = nothing;
    this.post('Runtime.releaseObjectGroup', { objectGroup });
  }

  close(): void {
    this.rest();
    this.#scripts.clear();
    try {
      this.release();
      if (this.#isDebugging) this.post('Debugger.disable');
    } finally {
      this.session.disconnect();
    }
  }
}

function argumentFor({ objectId, unserializableValue, value }: RemoteObject): RemoteObject {
  if (objectId !== undefined) return { objectId };
  return unserializableValue !== undefined ? { unserializableValue } : { value };
}

/** Returns the global object of a function's realm, if the realm allows code generation. */
export function realmOf(fn: object): object | undefined {
  try {
    let root = fn;
    for (let up = Object.getPrototypeOf(root); up; up = Object.getPrototypeOf(up)) root = up;
    const makeFunction = root.constructor.constructor as FunctionConstructor;
    return makeFunction('return globalThis')();
  } catch {
    return undefined;
  }
}
