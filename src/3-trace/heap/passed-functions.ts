/**
 * Functions that a call is given: `g(x, (y) => y.mul(2))` makes another one each time, of the same code. They are
 * guarded by their code and by what it reads around it; where the function itself matters, by identity.
 */

import { isPlainArray, isPlainObject, isProxy, readsPlainly } from '../../guards/plain.ts';
import type { Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { isIgnoredFile, isNotToStatic } from '../../traces/policy.ts';
import type { Code } from '../../vm/bytecode/code.ts';
import type { Closure } from '../../vm/bytecode/frame.ts';
import type { Opcode } from '../../vm/bytecode/instructions.ts';
import { usesSuper } from '../../vm/bytecode/uses-super.ts';
import { closureOf } from '../../vm/frames/function-of.ts';
import { RestartTrace } from '../control-flow/plans/loop-plans.ts';
import { isFrameworkFile } from '../state/framework-files.ts';
import type { Tracer } from '../state/tracer.ts';
import { isRefused } from '../variables/code-of.ts';
import type { FunctionVariable } from '../variables/variable.ts';

/** The closure to follow, once its code is guarded; undefined: the function is guarded by identity. */
export function passedFunction(
  t: Tracer,
  { value, source }: FunctionVariable,
): Closure | undefined {
  if (!source || !isPassed(t, source) || t.control.plans.isByIdentity(sourceKey(source))) return;
  if (closureOf(value) || isNotToStatic(value)) return undefined;
  const found = t.codeOf(value);
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

/** An argument, what plain objects and arrays among the arguments contain, or a variable around such a function. */
function isPassed(t: Tracer, source: Source): boolean {
  if (source.kind === 'closureName') return true;
  return source.kind === 'argument' || containerOf(t, source) !== undefined;
}

/** The plain object or array, an argument or inside one, of which the source is a property. */
function containerOf({ entryFrames }: Tracer, source: Source): Container | undefined {
  const keys: (string | symbol)[] = [];
  let place = source;
  for (; place.kind === 'property'; place = place.base) keys.push(place.key);
  if (place.kind !== 'argument') return undefined;
  let value: unknown = entryFrames[place.frame]?.args[place.index];
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

/** The code, or a function that it makes, assigns a variable around it or uses a private name. */
function reachesOut({ instructions, inner }: Code): boolean {
  return instructions.some(({ op }) => outside.has(op)) || inner.some(reachesOut);
}

const outside: ReadonlySet<Opcode> = new Set<Opcode>([
  'storeFree',
  'getPrivate',
  'setPrivate',
  'hasPrivate',
]);

/** Where the code reads a variable around it: of whichever function is passed. */
export function variableAround(
  t: Tracer,
  closure: Omit<Closure, 'cells'>,
  name: string,
): Source | undefined {
  const base = t.passed.get(closure);
  return base && { kind: 'closureName', base, name };
}

/** A frame or a function keeps the closure beyond the trace: the function is traced again, guarded by identity. */
export function expectNotPassed(t: Tracer, closure: Omit<Closure, 'cells'>): void {
  const source = t.passed.get(closure);
  if (!source) return;
  t.control.plans.guardByIdentity(sourceKey(source));
  throw new RestartTrace();
}

/** A variable is assigned that may be one of theirs. */
export function expectNonePassed(t: Tracer): void {
  if (t.passed.size === 0) return;
  for (const source of t.passed.values()) t.control.plans.guardByIdentity(sourceKey(source));
  throw new RestartTrace();
}
