/**
 * Functions passed as arguments: `g(x, (y) => y.mul(2))` creates a new closure of the same code on each call. Such
 * a closure is guarded by its code and by the outer variables that it reads; it is guarded by identity if the
 * function object itself matters.
 */

import { boundParts, isBoundByRun } from '../../guards/code-behind.ts';
import { isPlainArray, isPlainObject, isProxy, readsPlainly } from '../../guards/plain.ts';
import type { Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { isIgnoredFile, isNotToStatic } from '../../traces/policy.ts';
import { usesSuper } from '../../vm/bytecode/arrow-uses.ts';
import type { Code } from '../../vm/bytecode/code.ts';
import type { Closure } from '../../vm/bytecode/frame.ts';
import type { Opcode } from '../../vm/bytecode/instructions.ts';
import { closureOf } from '../../vm/frames/function-of.ts';
import { RestartTrace } from '../control-flow/plans/loop-plans.ts';
import { isFrameworkFile } from '../state/framework-files.ts';
import type { Tracer } from '../state/tracer.ts';
import { isRefused } from '../variables/code-of.ts';
import type { BoundVariable, FunctionVariable } from '../variables/variable.ts';

/**
 * Guards the function's code and returns the closure to trace; undefined if the function must be guarded by
 * identity.
 */
export function passedFunction(
  t: Tracer,
  { value, source }: FunctionVariable,
): Closure | undefined {
  if (!source || !isPassed(t, source) || t.control.plans.byIdentity.has(sourceKey(source))) return;
  if (closureOf(value) || isNotToStatic(value)) return undefined;
  const found = t.codeOf.called(value);
  if (isRefused(found) || found.boundThis || found.boundArgs.length > 0) return undefined;
  const { code, homeObject } = found.closure;
  const { file } = code.source;
  if (isFrameworkFile(file) || isIgnoredFile(file)) return undefined;
  if (homeObject || usesSuper(code) || reachesOut(code)) return undefined;
  t.guard(`code ${sourceKey(source)}`, { kind: 'code', source, code });
  const closure = { ...found.closure };
  t.passed.set(closure, source);
  return closure;
}

/**
 * Returns the target, `this` and arguments of a function that `bind` may create for each call, as locations read
 * through it; undefined if the function must be guarded by identity.
 */
export function passedBound(
  t: Tracer,
  { value, source }: FunctionVariable,
): BoundVariable | undefined {
  if (!source || t.control.plans.byIdentity.has(sourceKey(source))) return undefined;
  if (!isBoundByRun(value) && !(isPassed(t, source) && isBound(t, value))) return undefined;
  const parts = boundParts(value);
  if (!parts) return undefined;
  const { target, thisValue, args } = parts;
  t.guard(`bound ${sourceKey(source)}`, { kind: 'bound', source, args: args.length });
  const read = (part: 'target' | 'this' | number, content: unknown) =>
    t.read({ kind: 'bound', base: source, part }, content);
  return {
    kind: 'bound',
    target: read('target', target),
    receiver: read('this', thisValue),
    args: args.map((arg, index) => read(index, arg)),
    name: null,
  };
}

/** Returns whether the function prints as native code; queries the engine only once. */
function isBound(t: Tracer, value: FunctionVariable['value']): boolean {
  const found = t.codeOf.called(value);
  return isRefused(found) ? found.native : found.boundThis !== undefined;
}

/**
 * True for an argument, for a value in plain objects or arrays among the arguments, and for a variable that such a
 * function captures.
 */
function isPassed(t: Tracer, source: Source): boolean {
  if (source.kind === 'closureName') return true;
  if (source.kind === 'bound') return isPassed(t, source.base);
  return source.kind === 'argument' || containerOf(t, source) !== undefined;
}

/** Returns the plain object or array that has the source as a property, if it is an argument or nested in one. */
function containerOf({ entryFrames }: Tracer, source: Source): Container | undefined {
  const keys: (string | symbol)[] = [];
  let root = source;
  for (; root.kind === 'property'; root = root.base) keys.push(root.key);
  if (root.kind !== 'argument') return undefined;
  let value: unknown = entryFrames[root.frame]?.args[root.index];
  let container: Container | undefined;
  for (const key of keys.reverse()) {
    if (!isContainer(value) || !readsPlainly(value, key)) return undefined;
    container = value;
    value = container[key];
  }
  return container;
}

type Container = Readonly<Record<string | symbol, unknown>>;

function isContainer(value: unknown): value is Container {
  if (typeof value !== 'object' || value === null || isProxy(value)) return false;
  return isPlainObject(value) || isPlainArray(value);
}

/** Returns whether the code, or a function that it creates, assigns an outer variable or uses a private name. */
function reachesOut({ instructions, inner }: Code): boolean {
  return instructions.some(({ op }) => outside.has(op)) || inner.some(reachesOut);
}

const outside: ReadonlySet<Opcode> = new Set<Opcode>([
  'storeFree',
  'getPrivate',
  'setPrivate',
  'hasPrivate',
]);

/** Returns the source of an outer variable that the code reads, relative to the passed function. */
export function variableAround(
  t: Tracer,
  closure: Omit<Closure, 'cells'>,
  name: string,
): Source | undefined {
  const base = t.passed.get(closure);
  return base && { kind: 'closureName', base, name };
}

/** Called if a frame or function keeps the closure beyond the trace. Restarts the trace with an identity guard. */
export function expectNotPassed(t: Tracer, closure: Omit<Closure, 'cells'>): void {
  const source = t.passed.get(closure);
  if (!source) return;
  t.control.plans.byIdentity.add(sourceKey(source));
  throw new RestartTrace();
}

/** Called if the trace assigns a variable that a passed function may capture. */
export function expectNonePassed(t: Tracer): void {
  if (t.passed.size === 0) return;
  for (const source of t.passed.values()) t.control.plans.byIdentity.add(sourceKey(source));
  throw new RestartTrace();
}
