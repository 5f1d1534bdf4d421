import { aliasOp, isSameTensor } from './alias-op.ts';
import type { ProgramOp, ValueId } from './program.ts';

type Op = Pick<ProgramOp, 'op' | 'inputs' | 'outputs' | 'attrs' | 'recordsGrad'>;

/**
 * Tracks the base of each view as eager execution does. A view taken while gradients are recorded is a view of its
 * source and of the source's base. The result of `detach()` and a view taken in `noGrad` share the memory but have no
 * base.
 */
export class ViewBases {
  readonly #bases = new Map<ValueId, ValueId>();
  readonly #tensors = new Map<ValueId, ValueId>();
  readonly #unrecorded = new Set<ValueId>();

  /** `ops` must be in order. */
  constructor(ops: readonly Op[]) {
    for (const { op, inputs, outputs, attrs, recordsGrad } of ops) {
      if (op.kernel.kind !== 'view') continue;
      const [from, to] = [inputs[0]!, outputs[0]!];
      if (isSameTensor({ op, attrs })) {
        this.#tensors.set(to, this.tensorOf(from));
        this.#bases.set(to, this.baseOf(from));
        if (this.#unrecorded.has(from)) this.#unrecorded.add(to);
      } else if (op === aliasOp) continue;
      else if (recordsGrad) this.#bases.set(to, this.baseOf(from));
      else this.#unrecorded.add(to);
    }
  }

  /** Returns the base of a view; for any other value, the value itself. */
  baseOf(id: ValueId): ValueId {
    return this.#bases.get(id) ?? id;
  }

  /** Whether the value is a view taken in `noGrad`. */
  isUnrecorded(id: ValueId): boolean {
    return this.#unrecorded.has(id);
  }

  /** Returns the first value that represented the same tensor. */
  tensorOf(id: ValueId): ValueId {
    return this.#tensors.get(id) ?? id;
  }
}
