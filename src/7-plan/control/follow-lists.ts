import { alignedBytes } from '../../../runtime/memory/allocator.ts';
import { elementSpec } from '../../../runtime/program/list-ops.ts';
import { sizeOf } from '../../../runtime/tensor/shape.ts';
import type { ControlSite } from './follow-control.ts';
import type { Piece } from './run-memory.ts';

type Items = readonly (Piece | null)[];

/** What a list holds after the op; null: its result is an element. */
const after: Readonly<Record<string, (lists: readonly Items[], given: readonly Piece[]) => Items>> =
  {
    listOf: (_lists, given) => given,
    listPush: ([list], given) => [...list!, given[1]!],
    listPop: ([list]) => list!.slice(0, -1),
    listSet: ([list], given) => [...list!.slice(0, -1), given[2]!],
    listConcat: ([head, tail]) => [...head!, ...tail!],
    listDrop: ([list]) => list!.slice(0, -1),
    listExtend: ([list]) => [...list!, null],
    listPut: (_lists, given) => [given[1]!],
    listClear: ([list]) => [...list!.slice(0, -1), null],
    listHead: ([list]) => list!,
    listTail: ([list]) => list!,
    listAdd: ([a, b]) => (a!.length > 0 ? a! : b!),
  };

/** Lists have no bytes of their own. Which element is read shows only when it runs: the last one counts. */
export function followList({ follower, step, values, scope }: ControlSite): void {
  const { memory } = follower;
  const { op, inputs, outputs } = step.op;
  const given = inputs.map((id) => scope.get(id)!);
  const lists = given.map((piece) => piece.items ?? []);
  const [result, mark] = outputs;
  const change = after[op.name];
  if (change) scope.set(result!, memory.makeList(change(lists, given)));
  else {
    const { dtype, shape } = elementSpec(values[inputs[0]!]!);
    const bytes = alignedBytes(sizeOf(shape) * values[result!]!.device.elementBytes(dtype));
    const last = lists[0]!.at(-1);
    scope.set(result!, last ? memory.share(last) : memory.make(bytes));
  }
  if (mark !== undefined) scope.set(mark, memory.make(0));
}
