/** Phases 1 and 2 for any function: captured and lowered once. */

import type { MethodDefinition } from 'acorn';
import { getOrInsert } from '../../runtime/collections/get-or-insert.ts';
import { invariant } from '../../runtime/errors/invariant.ts';
import { formatPosition } from '../../runtime/errors/position.ts';
import {
  type AnyFunction,
  boundFrom,
  type CaptureRefusal,
  captureCalled,
  captureConstructed,
  captureFunction,
  captureOwnAlone,
  isRefusal,
  printRefusal,
} from '../1-capture/capture.ts';
import { findHomeObject } from '../1-capture/live/home-object.ts';
import type { CapturedFunction, ClassNode } from '../1-capture/script/captured-function.ts';
import {
  type Construction,
  isLowerRefusal,
  type LowerRefusal,
  lowerConstruction,
  lowerFunction,
} from '../2-lower/lower.ts';
import {
  type CapturedCode,
  isRefused as isRefusedCode,
  type PrivateMemberKind,
  type RejectedCode,
} from '../3-trace/variables/code-of.ts';
import { provideBoundParts, provideClosures } from '../guards/code-behind.ts';
import type { Code } from '../vm/bytecode/code.ts';
import { newClosure, type PrivateAccess, type Scope } from '../vm/bytecode/frame.ts';
import { closureOf } from '../vm/frames/function-of.ts';
import { instantiate } from '../vm/machine/run-frames.ts';
import { staticRecord } from './static-functions.ts';

interface CodeOptions {
  /** Values of the free variables, for functions whose scope is not available in other ways. */
  readonly scope?: Readonly<Record<string, unknown>> | undefined;
}

/** Code by position in the source: closures created at one position share it. */
const lowered = new WeakMap<object, Code | LowerRefusal>();
const loweredClasses = new WeakMap<object, Construction | LowerRefusal>();
const captured = new WeakMap<AnyFunction, CapturedCode | RejectedCode>();
const constructions = new WeakMap<AnyFunction, CapturedCode | RejectedCode>();

/** Returns the source, live scope and bytecode of a function, or why they are unavailable. */
export function codeOf(fn: AnyFunction, options: CodeOptions = {}): CapturedCode | RejectedCode {
  if (options.scope) return captureCode(fn, options);
  return getOrInsert(captured, fn, () => findCode(fn, options));
}

/** Opaque functions are not cached: other callers use their code. */
function called(fn: AnyFunction): CapturedCode | RejectedCode {
  const known = captured.get(fn);
  if (known) return known;
  const isMade = closureOf(fn) !== undefined || staticRecord(fn) !== undefined;
  const capture = isMade ? undefined : captureCalled(fn);
  if (!capture || !isRefusal(capture) || capture.reason !== 'opaque') return codeOf(fn);
  return { refused: true, native: false, opaque: true, why: printRefusal(capture) };
}

function ownAlone(fn: AnyFunction): CapturedCode | RejectedCode {
  return getOrInsert(captured, fn, () => codeFrom(captureOwnAlone(fn)));
}

function findCode(fn: AnyFunction, options: CodeOptions): CapturedCode | RejectedCode {
  const closure = closureOf(fn);
  if (closure)
    return refuseDriven(closure.code) ?? { closure: closure, boundThis: undefined, boundArgs: [] };
  // A captured function called by another one becomes part of its graphs.
  const inner = staticRecord(fn);
  return inner ? codeOf(inner.fn, inner.options) : captureCode(fn, options);
}

/** Captures the code that a user's class runs for a new instance. */
function constructionOf(type: AnyFunction): CapturedCode | RejectedCode {
  return getOrInsert(constructions, type, () => findConstruction(type));
}

provideClosures((fn) => {
  const found = codeOf(fn as AnyFunction);
  const isWhole = !isRefusedCode(found) && !found.boundThis && found.boundArgs.length === 0;
  return isWhole ? found.closure : undefined;
});

provideBoundParts((fn) => boundFrom(fn as AnyFunction));

codeOf.called = called;
codeOf.ownAlone = ownAlone;
codeOf.construction = constructionOf;
codeOf.homeObject = homeObjectOf;
codeOf.privateMember = privateMemberOf;
codeOf.privateOwner = privateOwnerOf;

const privateMembers = new WeakMap<AnyFunction, Map<string, AnyFunction | undefined>>();

/** Built once for each class: the class's own accessor can't be reached without an instance. */
function privateMemberOf(
  type: AnyFunction,
  name: string,
  kind: PrivateMemberKind,
): AnyFunction | undefined {
  const known = getOrInsert(privateMembers, type, () => new Map<string, AnyFunction | undefined>());
  const key = `${kind} ${name}`;
  if (!known.has(key)) known.set(key, findPrivateMember(type, name, kind));
  return known.get(key);
}

function findPrivateMember(
  type: AnyFunction,
  name: string,
  kind: PrivateMemberKind,
): AnyFunction | undefined {
  const capture = captureFunction(type, {});
  if (isRefusal(capture) || capture.kind !== 'constructor' || capture.bound) return undefined;
  const member = capture
    .syntax()
    .classNode!.body.body.find(
      (each) =>
        each.type === 'MethodDefinition' &&
        each.kind === kind &&
        each.key.type === 'PrivateIdentifier' &&
        each.key.name === name,
    ) as MethodDefinition | undefined;
  if (!member) return undefined;
  const scope = scopeOf(capture);
  const { source } = capture;
  const memberName = kind === 'method' ? `#${name}` : `${kind} #${name}`;
  const hasPrivate = scope.privateName !== undefined;
  const code = lowerFunction(member.value, source, 'method', true, memberName, hasPrivate);
  if (isLowerRefusal(code) || refuseDriven(code)) return undefined;
  const home = member.static ? type : (type.prototype as object);
  return instantiate(code, scope, [], undefined, home) as AnyFunction;
}

/**
 * Finds the home object by its owner. A copied method has another class in its source, and a private method is no
 * property.
 */
function homeObjectOf(method: AnyFunction, receiver: object): object | undefined {
  const holder = findHomeObject(method, receiver);
  // A decorator has put the wrapper of a captured method in the class, whose source is the user's method.
  const inner = staticRecord(method);
  const captured = inner ? captureFunction(inner.fn, inner.options) : captureFunction(method, {});
  if (isRefusal(captured)) return undefined;
  const { node } = captured.syntax();
  for (const object of holder ? [holder] : chainFrom(receiver)) {
    const type = classOf(object);
    const isMember = (each: ClassNode['body']['body'][number]) =>
      'value' in each && each.value === node;
    if (type && membersOf(type).some(isMember)) return object;
  }
  return undefined;
}

function* chainFrom(receiver: object): Generator<object> {
  let object: object | null = receiver;
  for (; object; object = Object.getPrototypeOf(object) as object | null) yield object;
}

/** Returns the class of a home object if its source declares the private name. */
function privateOwnerOf(home: object, name: string): AnyFunction | undefined {
  const type = classOf(home);
  const declares = (type ? membersOf(type) : []).some(
    (member) =>
      'key' in member && member.key.type === 'PrivateIdentifier' && member.key.name === name,
  );
  return declares ? type : undefined;
}

/** Returns the class of a prototype, or the class itself as the home object of static members. */
function classOf(home: object): AnyFunction | undefined {
  const type: unknown =
    typeof home === 'function' ? home : Object.getOwnPropertyDescriptor(home, 'constructor')?.value;
  return typeof type === 'function' && !closureOf(type) ? (type as AnyFunction) : undefined;
}

function membersOf(type: AnyFunction): ClassNode['body']['body'] {
  const capture = captureFunction(type, {});
  if (isRefusal(capture) || capture.kind !== 'constructor') return [];
  return capture.syntax().classNode!.body.body;
}

function findConstruction(type: AnyFunction): CapturedCode | RejectedCode {
  const refused = (why: string, native = false) => ({ refused: true, native, why }) as const;
  if (closureOf(type)) return refused('Another run of the code makes another class.');
  const capture = captureConstructed(type);
  if (isRefusal(capture)) {
    if (capture.reason === 'opaque') return refused('it is part of tostatic');
    return refused(printRefusal(capture), capture.reason === 'native');
  }
  const { name, source } = capture;
  // A bound function has a different prototype than its target.
  if (capture.kind !== 'constructor' || capture.bound)
    return refused('A function without `class` is constructed.');
  const scope = scopeOf(capture);
  const classNode = capture.syntax().classNode!;
  const lowered = getOrInsert(loweredClasses, classNode, () =>
    lowerConstruction(classNode, source, name, scope.privateName !== undefined),
  );
  if (isLowerRefusal(lowered)) {
    const at = formatPosition(source.position(lowered.span.start));
    return refused(`${lowered.explanation} (${lowered.reason}, at ${at})`);
  }
  const homeObject = type.prototype as object;
  const closure = newClosure({
    code: lowered.constructor,
    scope,
    cells: [],
    homeObject,
    lexicalThis: undefined,
    fn: type,
  });
  if (lowered.fields) {
    closure.fields = instantiate(lowered.fields, scope, [], undefined, homeObject);
  }
  return { closure, boundThis: undefined, boundArgs: [] };
}

/** Rejects code whose frames are driven by the generators and objects that it creates, not by calls. */
function refuseDriven(code: Code): RejectedCode | undefined {
  const refused = (explanation: string) => {
    const at = formatPosition(code.source.position(code.span.start));
    return { refused: true, native: false, why: `${explanation} (at ${at})` } as const;
  };
  const isClass = code.kind === 'constructor' || code.kind === 'derivedConstructor';
  return isClass ? refused('A class is made by `new`, not by a call.') : undefined;
}

function captureCode(fn: AnyFunction, options: CodeOptions): CapturedCode | RejectedCode {
  return codeFrom(captureFunction(fn, options));
}

function codeFrom(capture: CapturedFunction | CaptureRefusal): CapturedCode | RejectedCode {
  if (isRefusal(capture)) {
    return { refused: true, native: capture.reason === 'native', why: printRefusal(capture) };
  }
  const { source, homeObject, thisValue, bound } = capture;
  const scope = scopeOf(capture);
  const code = capture.code?.(() => loweredAgain(capture)) ?? loweredCode(capture);
  if (isLowerRefusal(code)) {
    const at = formatPosition(source.position(code.span.start));
    return { refused: true, native: false, why: `${code.explanation} (${code.reason}, at ${at})` };
  }
  const unframed = refuseDriven(code);
  if (unframed) return unframed;
  return {
    closure: newClosure({
      code,
      scope,
      cells: [],
      homeObject,
      lexicalThis: thisValue,
      fn: capture.fn,
    }),
    boundThis: bound && { value: bound.thisValue },
    boundArgs: bound?.args ?? [],
  };
}

/** Lowers the function, once for each position. */
function loweredCode(capture: CapturedFunction): Code | LowerRefusal {
  const { name, source, kind, strict, privateName } = capture;
  const { node } = capture.syntax();
  return getOrInsert(lowered, node, () =>
    lowerFunction(node, source, kind, strict, name, privateName !== undefined),
  );
}

function loweredAgain(capture: CapturedFunction): Code {
  const code = loweredCode(capture);
  invariant(!isLowerRefusal(code), `${capture.name} was lowered before`);
  return code;
}

/** Returns the function's scope, including private names if the capture can reach them. */
function scopeOf({ scope, privateName }: CapturedFunction): Scope {
  if (!privateName) return scope;
  const known = new Map<string, PrivateAccess>();
  return {
    ...scope,
    privateName(name) {
      return getOrInsert(known, name, () => privateName(name));
    },
  };
}
