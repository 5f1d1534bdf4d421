import { isContiguousMeta, type TensorMeta } from '../device/tensor-meta.ts';
import type { BackwardPart } from '../program/plan.ts';
import type { ProgramOp, ValueId, ValueTable } from '../program/program.ts';
import type { Tensor } from '../tensor/tensor.ts';

/**
 * Backward is planned for contiguous gradients. One with other strides is copied, which changes no bit unless
 * an op that follows strides reads it: then the sum would go in another order than that of eager execution.
 */
export class GradientOrder {
  readonly #ops: readonly ProgramOp[];
  readonly #values: ValueTable;
  readonly #inputs: readonly (ValueId | null)[];
  readonly #known = new Map<string, boolean>();

  constructor({ plan, gradOutputs }: BackwardPart, values: ValueTable) {
    this.#ops = plan.steps.map(({ op }) => op);
    this.#values = values;
    this.#inputs = gradOutputs;
  }

  /** Whether the strides of the gradient of output number `index` decide in which order it is summed. */
  isChangedBy(gradient: Tensor, index: number): boolean {
    const id = this.#inputs[index];
    if (gradient.isContiguous || id === null || id === undefined) return false;
    const key = `${index}:${gradient.strides.join()}`;
    let known = this.#known.get(key);
    if (known === undefined) {
      known = this.#isSummedOtherwise(id, gradient.strides);
      this.#known.set(key, known);
    }
    return known;
  }

  /** Follows the gradient, and views of it, through the ops that read them. */
  #isSummedOtherwise(input: ValueId, strides: readonly number[]): boolean {
    const strided = new Map<ValueId, TensorMeta>();
    strided.set(input, { ...this.#values[input]!, strides });
    return this.#ops.some(({ op, inputs, outputs, attrs }) => {
      const own = strided.get(inputs[0]!);
      if (!own) return false;
      const planned = inputs.map((id) => this.#values[id]!);
      const given = [own, ...planned.slice(1)];
      if (op.kernel.kind === 'view') {
        const view = viewOf(op.kernel.view, given, attrs);
        if (view) strided.set(outputs[0]!, view);
        return false;
      }
      const { device } = own;
      if (!op.followsStrides || !device.orderOf) return false;
      return device.orderOf(op, given, attrs) !== device.orderOf(op, planned, attrs);
    });
  }
}

type View = Extract<ProgramOp['op']['kernel'], { readonly kind: 'view' }>['view'];

/** Null where eager execution makes a contiguous copy first: from there on it lies as planned. */
function viewOf(
  view: View,
  given: readonly TensorMeta[],
  attrs: ProgramOp['attrs'],
): TensorMeta | null {
  try {
    const made = view(given, attrs);
    return isContiguousMeta(made) ? null : made;
  } catch {
    return null;
  }
}
