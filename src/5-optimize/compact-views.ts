import { contiguousMeta, type TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { copy } from '../../runtime/ops/core/copy.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import type { CompactedInput } from '../../runtime/program/plan.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { bytesOf } from '../../runtime/program/value-bytes.ts';
import { withDerivedViews } from '../../runtime/program/verify/view-metas.ts';
import { compactStrides, memoryOrder, sizeOf } from '../../runtime/spec/shape.ts';
import type { SubgraphStages } from '../programs/stages.ts';
import { renumber } from './cleanup/normalize.ts';
import { ProgramFacts } from './facts/program-facts.ts';

/** A memory that backward keeps views of, but could keep copies of instead. */
interface SavedViews {
  /** An input, or a value that an op computed. */
  readonly root: ValueId;
  /** The values to copy; the root itself if an input may be part of a larger memory. */
  readonly views: readonly ValueId[];
  /** Bytes of these copies. */
  readonly bytes: number;
  /** The number of saved values that view the memory. */
  readonly owners: number;
}

/**
 * In: a joint program, the values of forward that backward reads, and the outputs. Out: the memories of these values
 * that copies could replace. A program with in-place writes or control flow has none: the copy could be observed.
 * Operands of ops whose attributes depend on strides can't be copied either.
 */
export function savedViews(
  program: Program,
  saved: readonly ValueId[],
  outputs: readonly ValueId[],
): readonly SavedViews[] {
  const seesCopies = ({ op }: ProgramOp) => op.inPlace || op.kernel.kind === 'control';
  if (saved.length === 0 || program.ops.some(seesCopies)) return [];
  const facts = ProgramFacts.of(program);
  const chainOf = (id: ValueId): ValueId[] => {
    const definition = facts.definitionOf(id);
    return definition?.op.kernel.kind === 'view' ? [...chainOf(definition.inputs[0]!), id] : [id];
  };
  const shown = new Set([...outputs, ...program.outputs].map((id) => facts.rootOf(id)));
  for (const { op, inputs } of program.ops) {
    if (op === opNamed('asStrided')) shown.add(facts.rootOf(inputs[0]!));
  }
  const roots = new Set(saved.map((id) => facts.rootOf(id)));
  return [...roots].flatMap((root): SavedViews[] => {
    const values = saved.filter((id) => facts.rootOf(id) === root);
    if (shown.has(root)) return [];
    const chosen = new Set(values.map((id) => narrowest(program, chainOf(id))));
    // A copy of the whole memory covers the other views.
    const views = chosen.has(root) ? [root] : [...chosen];
    const isMade = facts.definitionIndex(root) >= 0;
    const isCopied = (id: ValueId) => !repeats(program.values[id]!);
    if ((isMade && chosen.has(root)) || !views.every(isCopied)) return [];
    const bytes = views.reduce((sum, id) => sum + bytesOf(program.values, id), 0);
    return [{ root, views, bytes, owners: values.length }];
  });
}

/** Returns the first value with the fewest elements among a value and the views that lead to it. */
function narrowest({ values }: Program, chain: readonly ValueId[]): ValueId {
  const sizeAt = (id: ValueId) => sizeOf(values[id]!.shape);
  return chain.reduce((least, id) => (sizeAt(id) < sizeAt(least) ? id : least));
}

/** Whether a view contains some element more than once. */
function repeats({ shape, strides }: TensorMeta): boolean {
  return shape.some((size, dim) => size > 1 && strides[dim] === 0);
}

interface Compacted {
  readonly program: Program;
  /** Maps each value to its id in the given program; null for a copy. */
  readonly original: readonly (ValueId | null)[];
}

/**
 * In: a program before differentiation, and some of its views. Out: the same program, renumbered, whose ops read
 * gapless copies instead of these views. A copy has the same order of dimensions in memory, so it can be viewed in all
 * the same ways. An input among the views is declared to be such a copy.
 */
export function compactViews(program: Program, chosen: readonly ValueId[]): Compacted {
  const definedIn = ({ inputs, ops }: Program) => [...inputs, ...ops.flatMap((op) => op.outputs)];
  if (chosen.length === 0) return { program, original: definedIn(program) };
  const values: TensorMeta[] = [...program.values];
  const copied = withEqualViews(program, chosen);
  for (const id of program.inputs) {
    const meta = values[id]!;
    if (!copied.delete(id)) continue;
    values[id] = { ...meta, strides: compactStrides(meta.shape, meta.strides), offset: 0 };
  }
  const copyOf = new Map<ValueId, ValueId>();
  const ops = program.ops.flatMap((op): ProgramOp[] => {
    const inputs = op.inputs.map((id) => copyOf.get(id) ?? id);
    const [view] = op.outputs;
    const rewritten = { ...op, inputs };
    if (view === undefined || !copied.has(view)) return [rewritten];
    const copies = copiesOf(view, rewritten, values);
    copyOf.set(view, copies.at(-1)!.outputs[0]!);
    return [rewritten, ...copies];
  });
  const compacted = { ...program, values, ops };
  const original = definedIn(compacted).map((id) => (id < program.values.length ? id : null));
  return { program: withDerivedViews(renumber(compacted)), original };
}

/** Adds the views that were merged with the chosen ones. */
function withEqualViews(program: Program, chosen: readonly ValueId[]): Set<ValueId> {
  const facts = ProgramFacts.of(program);
  const keyOf = (id: ValueId) => {
    const { shape, strides, offset } = program.values[id]!;
    return `${facts.rootOf(id)}@${offset}:${shape.join()}/${strides.join()}`;
  };
  const keys = new Set(chosen.map(keyOf));
  const views = program.ops.filter(({ op }) => op.kernel.kind === 'view');
  const equal = views.flatMap(({ outputs }) => outputs.filter((id) => keys.has(keyOf(id))));
  return new Set([...chosen, ...equal]);
}

/** Returns the inputs of a planned program that backward doesn't keep because of these copies. */
export function compactedInputs(
  { traced, forward, planned }: Pick<SubgraphStages, 'traced' | 'forward' | 'planned'>,
  chosen: readonly ValueId[],
  original: Compacted['original'],
): readonly CompactedInput[] {
  if (!planned.backward) return [];
  const { withData } = planned.backward.saved;
  const sources = new Map<ValueId, ValueId>();
  const sourceOf = (id: ValueId): ValueId => sources.get(id) ?? id;
  for (const { op, inputs, outputs } of traced.ops) {
    const isOurs = op === copy && original[outputs[0]!] === null;
    if (op.kernel.kind === 'view' || isOurs) sources.set(outputs[0]!, sourceOf(inputs[0]!));
  }
  return forward.inputs.flatMap((id, number) => {
    const entersAsCopy = chosen.includes(id);
    const saved = withData.filter((each) => sourceOf(each) === id);
    return saved.length > 0 || entersAsCopy ? [{ number, entersAsCopy, saved }] : [];
  });
}

/** Returns the ops that copy a view, with its dimensions in memory order. */
function copiesOf(view: ValueId, definition: ProgramOp, values: TensorMeta[]): ProgramOp[] {
  const meta = values[view]!;
  const { strides, shape, device } = meta;
  const order = memoryOrder(strides);
  const back = order.map((_, dim) => order.indexOf(dim));
  const lying = { ...meta, shape: order.map((dim) => shape[dim]!) };
  const define = (made: TensorMeta) => (values.push(made) - 1) as ValueId;
  const ordered = define({ ...lying, strides: order.map((dim) => strides[dim]!) });
  const compact = define(contiguousMeta(lying, device));
  const result = define({ ...meta, strides: compactStrides(shape, strides), offset: 0 });
  const permute = opNamed('permute');
  const { recordsGrad, at, checkpoint } = definition;
  const same = { recordsGrad, at, ...(checkpoint !== undefined && { checkpoint }) };
  return [
    { ...same, op: permute, inputs: [view], outputs: [ordered], attrs: { dims: order } },
    { ...same, op: copy, inputs: [ordered], outputs: [compact], attrs: {} },
    { ...same, op: permute, inputs: [compact], outputs: [result], attrs: { dims: back } },
  ];
}
