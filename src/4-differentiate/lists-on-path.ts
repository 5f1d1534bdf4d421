import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { elementSpec, listOf } from '../../runtime/program/list-ops.ts';
import type { ProgramOp, ValueId } from '../../runtime/program/program.ts';

/** A value of a straight program, or a list of such values. */
export type OnPath = ValueId | readonly OnPath[];

/** Turns a list of elements into one value. */
type MakeList = (list: TensorMeta, op: Omit<ProgramOp, 'outputs'>) => ValueId;

/** Performs ops on lists whose elements are all known: a straight program contains only the elements. */
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
    const copy = this.#make(list, { op: listOf, inputs, attrs, recordsGrad: true, at: undefined });
    this.#made.set(items, copy);
    return copy;
  }

  /**
   * Returns the results of an op on lists, with null for its mark; null for any other op. `index`: the marked element,
   * if it was saved.
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
