import { aliasOp, isSameTensor } from './alias-op.ts';
import type { ProgramOp, ValueId } from './program.ts';

type Op = Pick<ProgramOp, 'op' | 'inputs' | 'outputs' | 'attrs' | 'recordsGrad'>;

/**
 * Tracks the base of each view, as eager execution has it: a view that is made where gradients are recorded is one of
 * what it was taken of, and of what that is a view of. `detach()`, and a view made in `noGrad`, show the same memory
 * and are views of nothing.
 */
export class ViewBases {
  readonly #bases = new Map<ValueId, ValueId>();
  readonly #tensors = new Map<ValueId, ValueId>();

  /** `ops`: in their order. */
  constructor(ops: readonly Op[]) {
    for (const { op, inputs, outputs, attrs, recordsGrad } of ops) {
      if (op.kernel.kind !== 'view') continue;
      const [from, to] = [inputs[0]!, outputs[0]!];
      if (isSameTensor({ op, attrs })) {
        this.#tensors.set(to, this.tensorOf(from));
        this.#bases.set(to, this.baseOf(from));
      } else if (recordsGrad && op !== aliasOp) this.#bases.set(to, this.baseOf(from));
    }
  }

  /** The value that it is a view of: itself where it is of none. */
  baseOf(id: ValueId): ValueId {
    return this.#bases.get(id) ?? id;
  }

  /** The value that first stood for the tensor which this one represents. */
  tensorOf(id: ValueId): ValueId {
    return this.#tensors.get(id) ?? id;
  }
}
