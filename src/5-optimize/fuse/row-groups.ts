import { isHeadedPart } from '../../../runtime/program/fused/headed-parts.ts';
import { isAlias, rowCutsOf } from '../../../runtime/program/fused/row-parts.ts';
import type { ProgramOp, ValueTable } from '../../../runtime/program/program.ts';
import { sizeOf } from '../../../runtime/spec/shape.ts';
import type { GroupRules, Joined } from './groups.ts';
import { mayBeStagedAlike } from './known-groups.ts';

interface Rows {
  /**
   * The number of products whose right operand all rows share. It is packed again for each block, which pays off for
   * one product only.
   */
  readonly sharedProducts: number;
}

/** Rules for ops with rows in common: a few rows at a time pass through all of them. */
export class RowRules implements GroupRules<Rows> {
  readonly mostParts = 12;
  readonly mostOperands = 24;
  readonly #values: ValueTable;
  readonly #sums: boolean;

  /**
   * `sums`: allows sums over rows, block by block, such as the gradient of a convolution's weights; these may be
   * slower.
   */
  constructor(values: ValueTable, sums = false) {
    this.#values = values;
    this.#sums = sums;
  }

  begin(op: ProgramOp): Rows | null {
    if (isHeadedPart(op, this.#values)) return { sharedProducts: 0 };
    const cuts = rowCutsOf(op, this.#values);
    if (cuts.length === 0 || (!this.#sums && cuts[0]!.accumulate)) return null;
    const isShared = cuts.every(({ least }) => least > 1);
    return { sharedProducts: isShared ? 1 : 0 };
  }

  join(one: Rows, other: Rows, { ops }: Joined): Rows | null {
    const sharedProducts = one.sharedProducts + other.sharedProducts;
    if (sharedProducts > 1) return null;
    if (!this.#areLarge(ops) || !mayBeStagedAlike(ops, this.#values)) return null;
    return { sharedProducts };
  }

  isAlias(op: ProgramOp): boolean {
    // Elementwise ops on a GPU have one shape.
    const hasRows = op.inputs.every((id) => this.#values[id]!.device.innerBytes > 0);
    return hasRows && isAlias(op, this.#values);
  }

  /** Empty values have no rows. */
  #areLarge(ops: readonly ProgramOp[]): boolean {
    return ops.every(({ outputs }) => outputs.every((id) => sizeOf(this.#values[id]!.shape) > 0));
  }
}
