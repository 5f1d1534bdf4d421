import { mayBePublished, ownPartAt, ownPartOfFile } from '../../../runtime/errors/own-code.ts';
import type { Scope } from '../../vm/bytecode/frame.ts';
import { type FunctionFacts, isNeverReassigned } from '../script/binding.ts';
import type { AnyFunction, CapturedFunction } from '../script/captured-function.ts';
import { classNameAround } from '../script/class-name.ts';
import { givenScope } from '../script/given-scope.ts';
import { declaredAccess, privateDeclaration } from '../script/private-declaration.ts';
import { type CaptureRefusal, isRefusal, refuse } from '../script/refusal.ts';
import { type BoundTarget, currentSession, withCaptureSession } from './capture-session.ts';
import { assignedLater, captureSnapshot, findInScopes, isUnchanging } from './capture-snapshot.ts';
import type { DebuggerSession, Location, RemoteProperty, ScriptInfo } from './debugger-session.ts';
import { type Evaluate, hiddenAtEntry, probeEntry } from './entry-probe.ts';
import { homeObjectInClass } from './home-object.ts';
import { liveScope, privateAccess } from './live-scope.ts';
import {
  findFunction,
  findScriptFile,
  knownScript,
  loadScript,
  type Script,
  sourceOf,
} from './script.ts';
import { rememberEvaluator, scriptEvaluator } from './script-evaluator.ts';

/** Returns the function that `fn` was bound from, one `bind` at a time; undefined if it isn't a bound function. */
export function boundTarget(session: DebuggerSession, fn: AnyFunction): BoundTarget | undefined {
  const objectId = session.remote(fn);
  const internal = (name: string): unknown => {
    const remote = valueNamed(session.properties(objectId).internal, name);
    return remote && session.local(objectId, remote);
  };
  const target = internal('[[TargetFunction]]') as AnyFunction | undefined;
  if (target === undefined) return undefined;
  const args = internal('[[BoundArgs]]') as readonly unknown[];
  return { target, thisValue: internal('[[BoundThis]]'), args: [...args] };
}

const valueNamed = (properties: readonly RemoteProperty[], name: string) =>
  properties.find((property) => property.name === name)?.value;

/**
 * The route through the inspector: whole script, exact location, live scope. `fn` is not bound. `probe`: a call is
 * started even if no outer variable changes. `users`: published functions of this package are refused before their
 * large script is loaded.
 */
export function captureLive(
  session: DebuggerSession,
  fn: AnyFunction,
  route: 'any' | 'probe' | 'users' = 'any',
): CapturedFunction | CaptureRefusal {
  const objectId = session.remote(fn);
  const { internal } = session.properties(objectId);
  const at = valueNamed(internal, '[[FunctionLocation]]')?.value as Location | undefined;
  if (!at) return refuse('native', `${fn.name || 'The function'} has no location in a script.`);
  const script = knownScript(at.scriptId) ?? newScript(session, fn, at, internal, route);
  if (isRefusal(script)) return script;
  const facts = findFunction(script, at, isClass(fn));
  if (facts && isRefusal(facts)) return facts;
  if (!facts) {
    return refuse('no-source', `No function begins at ${script.text.file}:${at.lineNumber + 1}.`);
  }

  const hiddenNames = hiddenAtEntry(session, at, script, facts);
  const hidden = takeHidden(session, internal, facts, hiddenNames);
  if (isRefusal(hidden)) return hidden;

  let evaluate: Evaluate | undefined;
  if (usesSurroundings(facts)) {
    const found = { script, facts, internal };
    const inside = scriptEvaluator(session, found);
    const mayCopy = route !== 'probe' && !inside && isUnchanging(fn, found);
    const copied = mayCopy ? captureSnapshot(session, fn, found) : undefined;
    if (copied) {
      return {
        ...copied,
        route: 'inspector',
        scope: assignedLater(copied.scope, () => probed(fn)),
      };
    }
    const taken = inside ?? probeEntry(session, fn, objectId, at, script, facts);
    if (isRefusal(taken)) return captureSnapshot(session, fn, found) ?? taken;
    rememberEvaluator(script, facts, taken);
    evaluate = taken;
  }

  return captured(fn, script, facts, hidden, evaluate);
}

/** Returns whether the function uses anything around it, for which a call has to be started. */
const usesSurroundings = (facts: FunctionFacts): boolean =>
  facts.free.size > 0 || facts.privateNames.size > 0 || facts.usesSuper || usesOuterThis(facts);

const usesOuterThis = ({ kind, usesThis }: FunctionFacts): boolean => kind === 'arrow' && usesThis;

/** `evaluate`: evaluates in the function's scope; undefined if it uses nothing around it. */
function captured(
  fn: AnyFunction,
  script: Script,
  facts: FunctionFacts,
  hidden: ReadonlyMap<string, unknown>,
  evaluate: Evaluate | undefined,
): CapturedFunction {
  const homeObject = facts.usesSuper ? homeObjectOf(fn, facts, script, evaluate) : undefined;
  return {
    fn,
    route: 'inspector',
    name: fn.name,
    kind: facts.kind,
    start: facts.node.start,
    syntax: () => facts,
    source: sourceOf(script, facts),
    scope: evaluate ? liveScope(evaluate, script, facts, hidden) : givenScope({}),
    freeNames: [...facts.free.keys()],
    ...(evaluate && usesOuterThis(facts) && { thisValue: thisOf(evaluate) }),
    ...(homeObject && { homeObject }),
    strict: facts.strict,
    ...(evaluate && {
      privateName: (name: string) =>
        declaredAccess(
          privateAccess(evaluate, name),
          privateDeclaration(script.syntax.classes.keys(), facts.node, name),
          evaluate,
        ),
    }),
  };
}

/** Returns the scope of a function that was captured as a copy, through which variables can be assigned. */
function probed(fn: AnyFunction): Scope {
  return withCaptureSession(() => {
    const found = captureLive(currentSession()!, fn, 'probe');
    if (isRefusal(found)) throw new TypeError(`The variables around ${fn.name} can't be assigned.`);
    return found.scope;
  });
}

function newScript(
  session: DebuggerSession,
  fn: AnyFunction,
  at: Location,
  internal: readonly RemoteProperty[],
  route: 'any' | 'probe' | 'users',
): Script | CaptureRefusal {
  const { scriptId } = at;
  const file = findScriptFile(session, scriptId, internal);
  const info = file ?? session.script(scriptId);
  if (!info) return refuse('no-source', `Script ${scriptId} is not known to the debugger.`);
  if (info.url.startsWith('node:')) {
    return refuse('native', `${fn.name || 'The function'} belongs to ${info.url}.`);
  }
  const mayBeOwn = file === undefined || mayBePublished(file.text);
  if (route === 'users' && mayBeOwn && isPublished(info, at)) {
    return refuse('opaque', `${fn.name || 'The function'} is part of tostatic.`);
  }
  return loadScript(session, info, file?.text);
}

/** Returns whether the function belongs to published files of this package, which are bundles, or bundled again. */
const isPublished = ({ url }: ScriptInfo, { lineNumber, columnNumber }: Location): boolean =>
  ownPartOfFile(url) === null &&
  ownPartAt({ file: url, line: lineNumber + 1, column: columnNumber + 1 }) !== null;

const isClass = (fn: AnyFunction): boolean => /^class\b/.test(Function.prototype.toString.call(fn));

function thisOf(evaluate: Evaluate): { value: unknown } {
  try {
    return { value: evaluate('this') };
  } catch {
    return { value: undefined }; // an arrow in a derived constructor, before `super()`
  }
}

function homeObjectOf(
  fn: AnyFunction,
  facts: FunctionFacts,
  script: Script,
  evaluate: Evaluate | undefined,
): object | undefined {
  if (facts.kind === 'constructor') return fn.prototype as object;
  return (
    evaluate &&
    homeObjectInClass(fn, classNameAround(facts.node, script.syntax.classes.keys()), evaluate)
  );
}

/**
 * Returns the values of outer names that are hidden at the entry. Constant variables are read from `[[Scopes]]`, which
 * is a copy; variables that change are rejected.
 */
function takeHidden(
  session: DebuggerSession,
  internal: readonly RemoteProperty[],
  facts: FunctionFacts,
  names: readonly string[],
): Map<string, unknown> | CaptureRefusal {
  const values = new Map<string, unknown>();
  for (const name of names) {
    const binding = facts.free.get(name);
    const fixed = binding && isNeverReassigned(binding);
    const found = fixed ? findInScopes(session, internal, name) : undefined;
    if (!found) return refuse('shadowed-name', `${name} is also a local variable.`, [name]);
    values.set(name, found.value);
  }
  return values;
}
