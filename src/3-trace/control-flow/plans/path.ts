import type { UserPosition } from '../../../../runtime/errors/position.ts';
import type { Pc } from '../../../vm/bytecode/instructions.ts';
import type { DeviceScalar, Variable } from '../../variables/variable.ts';

/** The target of a path through a function: an instruction where other paths continue, or the return. */
export type Target = Pc | 'return';

/** The end of a path through a separately traced part of a function. */
export interface PathEnd {
  readonly targets: readonly Target[];
  /** The target that was reached, encoded by `numberOf`, if there are several. */
  readonly which: DeviceScalar | null;
  /** The returned value, if a target is the return. */
  readonly value: Variable | null;
  /** For a loop's head: the decision that ends the loop, and whether true means another iteration. */
  readonly test?: { readonly scalar: DeviceScalar; readonly stays: boolean };
  /** For errors: the position of the path's last line, and its last instruction. */
  readonly at?: UserPosition | undefined;
  readonly last?: Pc | undefined;
}

export function numberOf(target: Target): number {
  return target === 'return' ? -1 : target;
}

export function endAt(pc: Pc, at?: UserPosition, last?: Pc): PathEnd {
  return { targets: [pc], which: null, value: null, at, last };
}

export function endWith(value: Variable, at?: UserPosition): PathEnd {
  return { targets: ['return'], which: null, value, at };
}

export function reaches({ targets }: PathEnd, target: Target): boolean {
  return targets.includes(target);
}
