import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { elementSpec, listOf } from '../../runtime/program/list-ops.ts';
import type { ProgramOp, ValueId } from '../../runtime/program/program.ts';

/** A value of a straight program, or a list by its elements. */
export type OnPath = ValueId | readonly OnPath[];

/** Makes a list of elements a value. */
type MakeList = (list: TensorMeta, op: Omit<ProgramOp, 'outputs'>) => ValueId;

/** The ops on lists of which every element is known: a straight program has the elements alone. */
export class ListsOnPath {
  readonly #make: MakeList;
  readonly #made = new Map<readonly OnPath[], ValueId>();

  constructor(make: MakeList) {
    this.#make = make;
  }

  valueOf(items: readonly OnPath[], list: TensorMeta): ValueId {
    const earlier = this.#made.get(items);
    if (earlier !== undefined) return earlier;
    const element = elementSpec(list);
    const inner = { ...list, ...element };
    const inputs = items.map((item) =>
      typeof item === 'number' ? item : this.valueOf(item, inner),
    );
    const attrs = { dtype: element.dtype, shape: element.shape };
    const made = this.#make(list, { op: listOf, inputs, attrs, recordsGrad: true, at: undefined });
    this.#made.set(items, made);
    return made;
  }

  /**
   * Returns what the results of an op on lists are, null for its mark; null for any other op. `index`: the one that it
   * has marked, if it was kept.
   */
  perform(
    { op }: ProgramOp,
    inputs: readonly OnPath[],
    index: number | undefined,
  ): readonly (OnPath | null)[] | null {
    if (op === listOf) return [inputs];
    const [list, second, third] = inputs;
    if (list === undefined || typeof list === 'number') return null;
    switch (op.name) {
      case 'listPush':
        return [[...list, second!]];
      case 'listPop':
        return [list.slice(0, -1)];
      case 'listAt':
        return index === undefined ? null : [list[index]!, null];
      case 'listSet':
        return index === undefined ? null : [list.with(index, third!), null];
      case 'listConcat':
        return typeof second === 'number' ? null : [[...list, ...second!], null];
      default:
        return null;
    }
  }
}
