import { type Attrs, type Gradient, type OpRecord, operandUse } from '../ops/define-op.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { GradNode, type Target, targetOf } from './node.ts';
import { SavedValue } from './saved-value.ts';

/** Undoes one op of the table. Saves what the gradients that are needed say, and nothing else. */
export class OpNode extends GradNode {
  readonly name: string;
  readonly #attrs: Attrs;
  readonly #gradients: readonly (Gradient | null)[];
  readonly #saved = new Map<string, SavedValue>();

  constructor(
    op: OpRecord,
    attrs: Attrs,
    targets: readonly Target[],
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
  ) {
    super(targets, 1);
    this.name = op.name;
    this.#attrs = attrs;
    this.#gradients = targets.map((target, i) =>
      target ? (op.vjp?.[operandName(op, i)] ?? null) : null,
    );
    for (const gradient of this.#gradients) {
      for (const [name, kind] of Object.entries(gradient?.saves ?? {})) {
        const existing = this.#saved.get(name);
        if (existing && (kind === 'shape' || existing.holder)) continue;
        existing?.release();
        this.#saved.set(name, new SavedValue(valueNamed(op, name, inputs, outputs), kind!));
      }
    }
  }

  /** The values kept for backward, for inspection. */
  get saved(): ReadonlyMap<string, SavedValue> {
    return this.#saved;
  }

  override apply(gradOutputs: readonly (Tensor | null | undefined)[]): (Tensor | null)[] {
    const gradOutput = gradOutputs[0];
    if (!gradOutput) return this.#gradients.map(() => null);
    // One tidy per operand: temporaries of one gradient are gone before the next is computed. And one
    // around all: when one can't be computed, the earlier ones are given back.
    return tidy(() =>
      this.#gradients.map((gradient) =>
        gradient ? tidy(() => this.#gradientFor(gradient, gradOutput)) : null,
      ),
    );
  }

  protected override releaseSaved(): void {
    for (const value of this.#saved.values()) value.release();
  }

  #gradientFor(gradient: Gradient, gradOutput: Tensor): Tensor {
    const saved: Record<string, Tensor> = {};
    for (const name of Object.keys(gradient.saves))
      saved[name] = this.#saved.get(name)!.read(this.name);
    const result = gradient.rule(saved, gradOutput, this.#attrs);
    // The engine owns what it gets: the same gradient passed on needs a handle of its own.
    return result === gradOutput ? result.detach() : result;
  }
}

function operandName(op: OpRecord, index: number): string {
  return op.operands[Math.min(index, op.operands.length - 1)]!.name;
}

function valueNamed(
  op: OpRecord,
  name: string,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
): Tensor {
  if (name === 'out') return outputs[0]!;
  if (name === 'out1') return outputs[1]!;
  return inputs[op.operands.findIndex((operand) => operand.name === name)]!;
}

/** Records the op if any input needs a gradient through it. Call with gradients enabled. */
export function recordOp(
  op: OpRecord,
  attrs: Attrs,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
): void {
  const { vjp } = op;
  if (!vjp) return;
  const differentiable = (i: number) =>
    inputs[i]!.requiresGrad && operandName(op, i) in vjp && operandUse(op, i) === 'data';
  if (!inputs.some((_, i) => differentiable(i))) return;
  const targets = inputs.map((input, i) => (differentiable(i) ? targetOf(input) : null));
  const node = new OpNode(op, attrs, targets, inputs, outputs);
  outputs[0]!.setGradEdge({ node, index: 0 });
}
