/** Assertions of the host: those that hold do nothing, and those that fail report themselves. */

import { GraphBreak } from '../../../traces/graph-break.ts';
import type { Tracer } from '../../state/tracer.ts';
import { truthiness } from '../../state/value-guards.ts';
import { looselyEqual, strictlyEqual } from '../../values/equality.ts';
import { isRefused } from '../../variables/code-of.ts';
import { specialized } from '../../variables/unions.ts';
import { undefinedVariable, type Variable } from '../../variables/variable.ts';

/** Returns whether the assertion holds; undefined where only the host decides. */
type Assertion = (t: Tracer, a?: Variable, b?: Variable) => boolean | undefined;

const holds: Assertion = (t, value) => (isKnown(value) ? truthiness(t, value) : undefined);

/** The assertions about zeros and NaN differ from the operators, so the host decides them. */
const by =
  (equal: (t: Tracer, a: Variable, b: Variable) => boolean): Assertion =>
  (t, a, b) =>
    isKnown(a) && isKnown(b) && !isSpecial(a) && !isSpecial(b) ? equal(t, a, b) : undefined;

const not =
  (assertion: Assertion): Assertion =>
  (t, a, b) => {
    const result = assertion(t, a, b);
    return result === undefined ? undefined : !result;
  };

/** Names and their assertions, in `node:assert`. */
const assertions = {
  ok: holds,
  strict: holds,
  equal: by(looselyEqual),
  notEqual: not(by(looselyEqual)),
  strictEqual: by(strictlyEqual),
  notStrictEqual: not(by(strictlyEqual)),
} satisfies Record<string, Assertion>;

type Name = keyof typeof assertions;

/**
 * Traces `console.assert`, and `assert` of Node where it compares no contents. Undefined for other calls, among them
 * those of a function of the user's in place of the host's.
 */
export function assertInGraph(
  t: Tracer,
  fn: AnyFunction,
  args: readonly Variable[],
): Variable | undefined {
  const assertion = assertionOf(fn);
  if (!assertion || !isRefused(t.codeOf.called(fn))) return undefined;
  const does = assertion(t, ...args.map(specialized));
  if (does === false && fn !== console.assert) throw new GraphBreak('throw', 'an assertion fails');
  return does ? undefinedVariable : undefined;
}

type AnyFunction = (...args: never[]) => unknown;

function assertionOf(fn: AnyFunction): Assertion | undefined {
  if (fn === console.assert) return holds;
  // The module is loaded only for functions with such a name. A name may be a getter of the user's, which must not run.
  const name: unknown = Object.getOwnPropertyDescriptor(fn, 'name')?.value;
  if (typeof name !== 'string' || !Object.hasOwn(assertions, name)) return undefined;
  const assert = globalThis.process?.getBuiltinModule?.('node:assert');
  return assert?.[name as Name] === fn ? assertions[name as Name] : undefined;
}

/** Values of the device are only known to the program. */
const isKnown = (value: Variable | undefined): value is Variable =>
  value !== undefined && value.kind !== 'scalar' && value.kind !== 'text';

function isSpecial(value: Variable): boolean {
  const isNumber = value.kind === 'constant' || value.kind === 'symbolic';
  return isNumber && (value.value === 0 || Number.isNaN(value.value));
}
