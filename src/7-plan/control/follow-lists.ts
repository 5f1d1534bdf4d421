import { alignedBytes } from '../../../runtime/memory/allocator.ts';
import { elementSpec } from '../../../runtime/program/list-ops.ts';
import type { ValueId } from '../../../runtime/program/program.ts';
import type { TensorMeta } from '../../../runtime/tensor/meta.ts';
import { sizeOf } from '../../../runtime/tensor/shape.ts';
import type { ControlSite } from './control-site.ts';
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
  listExtend: ({ lists: [list] }) => [...list!, null],
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

/** Gradients of elements: missing where there are none. */
const elementGradients: ReadonlySet<string> = new Set(['listGradientAt', 'listTake']);

/** Lists have no bytes of their own. */
export function followList(site: ControlSite): void {
  const { follower, step, values, scope } = site;
  const { memory, decider } = follower;
  const { op, inputs, outputs } = step.op;
  const [result, markId] = outputs as [ValueId, ValueId?];
  const given = inputs.flatMap((id) => scope.get(id) ?? []);
  if (op.name === 'listAdd') {
    const [a, b] = given;
    // Without a second part the sum is the first one.
    if (a) scope.set(result, b ? sumOfLists(memory, a, b, values[result]!) : memory.share(a));
    return;
  }
  const lists = given.map((piece) => piece.items ?? []);
  const list = values[inputs[0] ?? result]!;
  const count = lists[0]?.length ?? 0;
  const known = given.find((piece) => piece.mark)?.mark;
  const mark = known ?? markOf(op.name, count, lists[1]?.length ?? 0, (n) => decider.element(n));
  if (after[op.name]) {
    scope.set(result, memory.makeList(after[op.name]!({ given, lists, ...mark })));
  } else {
    const { index } = step.op.attrs;
    const element = lists[0]!.at(op.name === 'listGradientAt' ? (index as number) : mark.index);
    if (element) scope.set(result, memory.share(element));
    else if (!elementGradients.has(op.name)) scope.set(result, memory.make(elementBytes(list)));
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

/** Of one element. */
function elementBytes(list: TensorMeta): number {
  const { dtype, shape } = elementSpec(list);
  return alignedBytes(sizeOf(shape) * list.device.elementBytes(dtype));
}

/**
 * What both lists, or tensors whose shape only the run knows, have is added up in memory of its own; elements may
 * be lists themselves.
 */
export function sumOfLists(memory: RunMemory, one: Piece, more: Piece, meta: TensorMeta): Piece {
  const [a, b] = [one.items ?? [], more.items ?? []];
  const { shape } = one;
  const element = { ...meta, ...elementSpec(meta) };
  const bytes = elementBytes(shape ? { ...meta, shape: [0, ...shape] } : meta);
  const sums: Piece[] = [];
  const items = Array.from({ length: Math.max(a.length, b.length) }, (_, i) => {
    const [first, other] = [a[i] ?? null, b[i] ?? null];
    if (!first || !other) return first ?? other;
    const isList = first.items !== undefined;
    const sum = isList ? sumOfLists(memory, first, other, element) : memory.make(bytes);
    sums.push(sum);
    return sum;
  });
  const list = { ...memory.makeList(items), ...(shape && { shape }) };
  for (const sum of sums) memory.drop(sum);
  return list;
}
