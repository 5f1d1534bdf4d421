import { alignedBytes } from '../../../runtime/memory/allocator.ts';
import { elementSpec } from '../../../runtime/program/list-ops.ts';
import type { TensorMeta } from '../../../runtime/tensor/meta.ts';
import { sizeOf } from '../../../runtime/tensor/shape.ts';
import type { ControlSite } from './follow-control.ts';
import type { Piece, RunMemory } from './run-memory.ts';

type Items = readonly (Piece | null)[];

/** The operands of an op on lists, and which element it is about. */
interface Operands {
  readonly given: readonly Piece[];
  readonly lists: readonly Items[];
  readonly index: number;
  readonly length: number;
}

/** What the list holds that the op answers; others answer an element. */
const after: Readonly<Record<string, (operands: Operands) => Items>> = {
  listOf: ({ given }) => given,
  listPush: ({ lists: [list], given }) => [...list!, given[1]!],
  listPop: ({ lists: [list] }) => list!.slice(0, -1),
  listSet: ({ lists: [list], given, index }) => replaced(list!, index, given[2]!),
  listConcat: ({ lists: [head, tail] }) => [...head!, ...tail!],
  listDrop: ({ lists: [list] }) => list!.slice(0, -1),
  listExtend: ({ lists: [list] }) => (list!.length > 0 ? [...list!, null] : list!),
  listPut: ({ given, index, length }) => {
    return replaced(new Array<Piece | null>(length).fill(null), index, given[1]!);
  },
  listClear: ({ lists: [list], index }) => replaced(list!, index, null),
  listHead: ({ lists: [list], index }) => list!.slice(0, index),
  listTail: ({ lists: [list], index }) => list!.slice(index),
};

/** On a way that no run takes, an empty list may be asked for an element. */
function replaced(list: Items, index: number, piece: Piece | null): Items {
  return index >= 0 && index < list.length ? list.with(index, piece) : list;
}

/** Lists have no bytes of their own. */
export function followList(site: ControlSite): void {
  const { follower, step, values, scope } = site;
  const { memory, decider } = follower;
  const { op, inputs, outputs } = step.op;
  const given = inputs.map((id) => scope.get(id)!);
  const lists = given.map((piece) => piece.items ?? []);
  const [result, markId] = outputs;
  const list = values[inputs[0] ?? result!]!;
  const count = lists[0]?.length ?? 0;
  const known = given.find((piece) => piece.mark)?.mark;
  const mark = known ?? markOf(op.name, count, lists[1]?.length ?? 0, (n) => decider.element(n));
  if (op.name === 'listAdd') scope.set(result!, sumOfLists(memory, given[0]!, given[1]!, list));
  else if (after[op.name]) {
    scope.set(result!, memory.makeList(after[op.name]!({ given, lists, ...mark })));
  } else {
    const { index } = step.op.attrs;
    const element = lists[0]!.at(op.name === 'listGradientAt' ? (index as number) : mark.index);
    scope.set(result!, element ? memory.share(element) : memory.make(elementBytes(list)));
  }
  if (markId !== undefined) scope.set(markId, { ...memory.make(0), mark });
}

function markOf(
  name: string,
  count: number,
  more: number,
  element: (count: number) => number,
): { readonly index: number; readonly length: number } {
  if (name === 'listAt' || name === 'listSet') return { index: element(count), length: count };
  return { index: count, length: count + more };
}

function elementBytes(list: TensorMeta): number {
  const { dtype, shape } = elementSpec(list);
  return alignedBytes(sizeOf(shape) * list.device.elementBytes(dtype));
}

/**
 * What both lists, or tensors whose shape only the run knows, have is added up in memory of its own; what is none
 * is all zeros.
 */
export function sumOfLists(memory: RunMemory, a: Piece, b: Piece, meta: TensorMeta): Piece {
  if (!a.items?.length || !b.items?.length) return memory.share(a.items?.length ? a : b);
  const { shape } = a;
  const element = { ...meta, ...elementSpec(meta) };
  const bytes = elementBytes(shape ? { ...meta, shape: [0, ...shape] } : meta);
  const sums: Piece[] = [];
  const items = a.items.map((item, i) => {
    const other = b.items![i] ?? null;
    if (!item || !other) return item ?? other;
    const isList = item.items !== undefined || other.items !== undefined;
    const sum = isList ? sumOfLists(memory, item, other, element) : memory.make(bytes);
    sums.push(sum);
    return sum;
  });
  const list = { ...memory.makeList(items), ...(shape && { shape }) };
  for (const sum of sums) memory.drop(sum);
  return list;
}
