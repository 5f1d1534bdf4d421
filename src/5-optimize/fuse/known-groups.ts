/**
 * Caches fused ops by the structure of their group: candidate programs have most groups in common, under other value
 * ids.
 */

import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';
import type { Attrs } from '../../../runtime/device/kernel-op.ts';
import { isChanging, presentAttrs } from '../../../runtime/device/symbolic-attrs.ts';
import type { TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import { exactText } from '../../../runtime/numerics/exact-text.ts';
import { inPlaceOf } from '../../../runtime/program/fused/fused-op.ts';
import { mayBeStaged, oneOp } from '../../../runtime/program/fused/staged-op.ts';
import type { ProgramOp, ValueId, ValueTable } from '../../../runtime/program/program.ts';

/** A fused op without value ids: its inputs are indices into the values that its parts refer to. */
interface Fused {
  readonly op: ProgramOp['op'];
  readonly attrs: ProgramOp['attrs'];
  readonly inputs: readonly number[];
}

/** Cached results by structure. */
interface Known {
  readonly mayBeStaged: Map<string, boolean>;
  readonly fused: Map<string, Fused | null>;
}

/** By the meta of the first value that a group refers to: groups are cached as long as their program lives. */
const known = new WeakMap<TensorMeta, Known>();

/** Returns the result of `mayBeStaged`, computed once for all groups of one structure. */
export function mayBeStagedAlike(parts: readonly ProgramOp[], values: ValueTable): boolean {
  const structure = structureOf(parts, values);
  if (!structure) return mayBeStaged(parts, values);
  const { text, known } = structure;
  return getOrInsert(known.mayBeStaged, text, () => mayBeStaged(parts, values));
}

/** Returns the result of `oneOp`; ops of groups of one structure share their record. */
export function oneOpAlike(
  parts: readonly ProgramOp[],
  results: readonly ValueId[],
  values: ValueTable,
): ProgramOp | null {
  const structure = structureOf(parts, values);
  if (!structure) return oneOp(parts, results, values);
  const { known, ids } = structure;
  const text = `${structure.text}>${results.map((id) => ids.indexOf(id))}`;
  const alike = known.fused.get(text);
  if (alike) {
    const { op, attrs, inputs } = alike;
    const named = { op, attrs, inputs: inputs.map((index) => ids[index]!), outputs: results };
    return inPlaceOf(parts, named);
  }
  if (alike === null) return null;
  const fused = oneOp(parts, results, values);
  const inputs = fused?.inputs.map((id) => ids.indexOf(id));
  known.fused.set(text, fused && { op: fused.op, attrs: fused.attrs, inputs: inputs! });
  return fused;
}

interface Structure {
  /** A text that is equal for groups that differ only in their value ids. */
  readonly text: string;
  /** The values that the parts refer to, in order. */
  readonly ids: readonly ValueId[];
  readonly known: Known;
}

/** For larger groups, writing the structure takes longer than it may save. */
const mostParts = 32;

/** Returns null if the group depends on more than records, attributes and metas. */
function structureOf(parts: readonly ProgramOp[], values: ValueTable): Structure | null {
  if (parts.length > mostParts) return null;
  const ids: ValueId[] = [];
  let text = '';
  const name = (id: ValueId): void => {
    const index = ids.indexOf(id);
    text += index < 0 ? `,m${numberOf(values[id]!)}` : `,${index}`;
    if (index < 0) ids.push(id);
  };
  for (const part of parts) {
    const { op, inputs, outputs, attrs, before, call, regions } = part;
    const isRecord = part.parts?.[0]?.op !== op;
    if (before !== undefined || call || regions || !isRecord) return null;
    text += `;${numberOf(op)}@${textOf(attrs)}`;
    for (const id of inputs) name(id);
    text += ':';
    for (const id of outputs) name(id);
  }
  const [first] = ids;
  return first === undefined ? null : { text, ids, known: knownFor(values[first]!) };
}

function knownFor(meta: TensorMeta): Known {
  return getOrInsert(known, meta, () => ({ mayBeStaged: new Map(), fused: new Map() }));
}

/** Symbolic numbers are written as their current values. */
function textOf(attrs: Attrs): string {
  let text = String(numberOf(attrs));
  for (const name in attrs) {
    if (isChanging(attrs[name]!)) text += `=${exactText(presentAttrs(attrs)[name])}`;
  }
  return text;
}

const numbers = new WeakMap<object, number>();
let numbered = 0;

function numberOf(object: object): number {
  return getOrInsert(numbers, object, () => ++numbered);
}
