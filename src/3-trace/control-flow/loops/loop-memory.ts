/**
 * Cached results of tracing a loop. An inner loop is traced again for each attempt to trace its outer loops, and would
 * find the same results from scratch each time.
 */

import type { Pc } from '../../../vm/bytecode/instructions.ts';
import { isFixed, type Location } from '../../state/location.ts';
import { idOf } from '../../state/object-ids.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { ListTreeSpec } from '../../variables/growable-list.ts';
import { known, type NewArrayVariable, type Variable } from '../../variables/variable.ts';
import type { State } from '../locations/snapshot.ts';
import type { Merged } from '../merge/phi-merger.ts';
import { classOf } from '../merge/variable-class.ts';
import type { Leaf, LeafVariable } from '../numbers/leaf.ts';
import { type Carried, leafKey } from './carried.ts';
import type { Form } from './loop-fixpoint.ts';

/** A location that is carried as a single operand. */
interface KnownOperand {
  readonly name: string;
  readonly kind: Leaf['kind'];
  /** The class of its initial value; null if that is unused. */
  readonly class: string | null;
  /** Its value after an iteration. */
  readonly last: LeafVariable | null;
  /** Whether it is a whole number before an iteration but not after it. */
  readonly isFractional: boolean;
}

/** A loop, identified by the call chain that reaches it. */
export class KnownLoop {
  /** `flagged` once the loop is known to have several exits. */
  form: Form = 'headed';
  /** Operands by location key, in which objects are numbered in the order in which they are reached. */
  operands: ReadonlyMap<string, KnownOperand> = new Map();
  /** Arrays that are lists before the loop, numbered in the order in which they are reached. */
  readonly growable = new Map<
    number,
    { readonly born: Pc | undefined; readonly form: ListTreeSpec }
  >();
}

const loopsOf = new WeakMap<Tracer, Map<string, KnownLoop>>();

/** Returns the cached results for the loop at this header, for the current call chain. */
export function knownLoop(t: Tracer, header: Pc): KnownLoop {
  const loops = loopsOf.get(t) ?? new Map<string, KnownLoop>();
  loopsOf.set(t, loops);
  const calls = t.frames.slice(0, -1).map(({ closure, pc }) => `${idOf(closure.code)} ${pc}`);
  const key = [...calls, `${idOf(t.top.closure.code)} ${header}`].join();
  const known = loops.get(key) ?? new KnownLoop();
  loops.set(key, known);
  return known;
}

/** Returns the arrays that became lists the last time, which now become lists immediately. */
export function growing(
  { growable }: KnownLoop,
  existing: ReadonlySet<Variable>,
): ReadonlyMap<NewArrayVariable, ListTreeSpec> {
  const arrays = new Map<NewArrayVariable, ListTreeSpec>();
  if (growable.size === 0) return arrays;
  for (const [variable, number] of numbered(existing)) {
    const known = growable.get(number);
    if (!known || variable.kind !== 'newArray' || variable.growable) continue;
    if (variable.born?.pc === known.born) arrays.set(variable, known.form);
  }
  return arrays;
}

export function rememberGrowable(
  { growable }: KnownLoop,
  existing: ReadonlySet<Variable>,
  arrays: Iterable<NewArrayVariable>,
): void {
  const became = new Set<Variable>(arrays);
  for (const [variable, number] of numbered(existing)) {
    if (variable.kind !== 'newArray' || !variable.growable || !became.has(variable)) continue;
    growable.set(number, { born: variable.born?.pc, form: variable.growable.form });
  }
}

/** The operands that an iteration is expected to carry. */
export interface Expected {
  readonly carried: Map<string, Carried>;
  /** Leaves that are whole numbers before an iteration but not after it. */
  readonly fractional: Set<string>;
}

/** Returns the locations that were carried the last time, if their values now have the same class. */
export function operandsKnown(
  t: Tracer,
  { operands }: KnownLoop,
  existing: ReadonlySet<Variable>,
  before: State,
  isLive: (location: Location) => boolean,
): Expected {
  const carried = new Map<string, Carried>();
  const fractional = new Set<string>();
  if (operands.size === 0) return { carried, fractional };
  const keyIn = keysOf(existing);
  const held = new Map([...before.values()].map((each) => [keyIn(each.location.key), each]));
  for (const [key, { name, kind, class: own, last, isFractional }] of operands) {
    const { location, value } = held.get(key) ?? {};
    if (!location || !value || location.name !== name || isFixed(location)) continue;
    const first = isLive(location) ? value : null;
    if ((first && classOf(t, first, () => true)) !== own) continue;
    const leaf: Leaf = { kind, values: [first as LeafVariable | null, last] };
    carried.set(location.key, { location, merged: { leaves: [leaf], options: 0, build: only } });
    if (isFractional) fractional.add(leafKey(location.key, 0));
  }
  return { carried, fractional };
}

export function rememberOperands(
  t: Tracer,
  known: KnownLoop,
  existing: ReadonlySet<Variable>,
  { carried, fractional }: Expected,
): void {
  const keyIn = keysOf(existing);
  const operands = new Map<string, KnownOperand>();
  for (const { location, merged } of carried.values()) {
    if (!isLeaf(merged)) continue;
    const [{ kind, values }] = merged.leaves as [Leaf];
    const [first = null, last = null] = values;
    if (!isPlain(first) || !isPlain(last)) continue;
    const firstClass = first && classOf(t, first, () => true);
    const isFractional = fractional.has(leafKey(location.key, 0));
    operands.set(keyIn(location.key), {
      name: location.name,
      kind,
      class: firstClass,
      last,
      isFractional,
    });
  }
  known.operands = operands;
}

const only: Merged['build'] = ([value]) => value!;

/** Returns whether the structure is a single leaf. */
function isLeaf({ leaves, options, build }: Merged): boolean {
  if (leaves.length !== 1 || options > 0) return false;
  const probe = known(0);
  return build([probe]) === probe;
}

function isPlain(value: LeafVariable | null): value is Extract<LeafVariable, Variable> | null {
  return value === null || !['opened', 'newList', 'oneOf', 'renumbered'].includes(value.kind);
}

/** Numbers the objects created in the trace in the order in which they are reached. */
function* numbered(existing: ReadonlySet<Variable>): Generator<readonly [Variable, number]> {
  let number = 0;
  for (const variable of existing) if (containers.has(variable.kind)) yield [variable, number++];
}

const containers: ReadonlySet<Variable['kind']> = new Set([
  'newArray',
  'newObject',
  'newCollection',
  'cell',
  'iterator',
  'iteratorRecord',
  'generator',
]);

/** Returns a function that replaces object ids in location keys by these numbers. */
function keysOf(existing: ReadonlySet<Variable>): (key: string) => string {
  const numbers = new Map(
    [...numbered(existing)].map(([variable, i]) => [String(idOf(variable)), i]),
  );
  return (key) => key.replace(/^\d+(?= )/, (id) => `object ${numbers.get(id) ?? id}`);
}
