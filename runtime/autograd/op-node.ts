import { AutogradError } from '../errors/errors.ts';
import { type Attrs, type Gradient, type OpRecord, operandUse } from '../ops/define-op.ts';
import { dtypes } from '../tensor/dtype.ts';
import { tidy } from '../tensor/lifetime.ts';
import { formatSpec } from '../tensor/meta.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { GradNode, share, type Target, targetOf } from './node.ts';
import { SavedValue } from './saved-value.ts';

/** Undoes one op of the table. Saves what the gradients that are needed say, and nothing else. */
export class OpNode extends GradNode {
  readonly name: string;
  readonly #op: OpRecord;
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
    this.#op = op;
    this.#attrs = attrs;
    this.#gradients = targets.map((target, i) =>
      target ? (op.vjp?.[operandName(op, i)] ?? null) : null,
    );
    for (const gradient of this.#gradients) {
      for (const [name, kind] of Object.entries(gradient?.saves ?? {})) {
        const existing = this.#saved.get(name);
        if (existing && (kind === 'shape' || existing.hasData)) continue;
        existing?.release();
        this.#saved.set(name, new SavedValue(valueNamed(op, name, inputs, outputs), kind!));
      }
    }
  }

  /** The values kept for backward, for inspection. */
  get saved(): ReadonlyMap<string, SavedValue> {
    return this.#saved;
  }

  override apply(
    gradOutputs: readonly (Tensor | null | undefined)[],
    _retainGraph: boolean,
    wanted: readonly boolean[],
  ): (Tensor | null)[] {
    const gradOutput = gradOutputs[0];
    if (!gradOutput) return this.#gradients.map(() => null);
    // One tidy per operand: temporaries of one gradient are gone before the next is computed. And one
    // around all: when one can't be computed, the earlier ones are given back.
    return tidy(() =>
      this.#gradients.map((gradient, i) =>
        gradient && wanted[i] ? tidy(() => this.#gradientFor(gradient, gradOutput, i)) : null,
      ),
    );
  }

  protected override releaseSaved(): void {
    for (const value of this.#saved.values()) value.release();
  }

  #gradientFor(gradient: Gradient, gradOutput: Tensor, index: number): Tensor {
    const saved: Record<string, Tensor> = {};
    for (const name of Object.keys(gradient.saves))
      saved[name] = this.#saved.get(name)!.read(this.name, this.#placeOf(name));
    const result = insideRule(() => gradient.rule(saved, gradOutput, this.#attrs, index));
    // The engine owns what it gets: the same gradient passed on needs a handle of its own.
    return result === gradOutput ? share(result) : result;
  }

  /** Where a saved value stood in the graph. An output's own node can't be kept: it would own itself. */
  #placeOf(name: string): Target {
    const operand = operandIndex(this.#op, name);
    if (operand >= 0) return this.targets[operand] ?? null;
    return name === 'out' ? { node: this, index: 0 } : null;
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
  // Backward ops have operands named as the outputs of the op that they undo.
  const operand = operandIndex(op, name);
  if (operand >= 0) return inputs[operand]!;
  return outputs[name === 'out' ? 0 : 1]!;
}

function operandIndex(op: OpRecord, name: string): number {
  return op.operands.findIndex((operand) => operand.name === name);
}

/** Where the gradients of an op's inputs go; null for those that need none or have none. */
export function targetsOf(op: OpRecord, inputs: readonly Tensor[]): Target[] {
  return inputs.map((input, i) => {
    const differentiable = operandName(op, i) in (op.vjp ?? {}) && operandUse(op, i) === 'data';
    return differentiable ? targetOf(input) : null;
  });
}

let rules = 0;

/** An op without gradient in a rule that is recorded must not pass for a constant. */
function insideRule<T>(body: () => T): T {
  rules++;
  try {
    return body();
  } finally {
    rules--;
  }
}

function refuseInRule(op: OpRecord, inputs: readonly Tensor[], outputs: readonly Tensor[]): void {
  if (rules === 0 || op.flat || !dtypes[outputs[0]!.dtype].floating) return;
  const lost = inputs.find((input, i) => input.requiresGrad && operandUse(op, i) === 'data');
  if (!lost) return;
  throw new AutogradError({
    what: `${op.name}: a gradient of a gradient that is not known`,
    given: `${op.name} of a ${formatSpec(lost)} tensor in a backward with createGraph`,
    expected: 'ops whose gradients can be differentiated again',
    remedy: 'leave createGraph out, or compute this part from other ops',
  });
}

/** Records the op if any input needs a gradient through it. Call with gradients enabled. */
export function recordOp(
  op: OpRecord,
  attrs: Attrs,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
): void {
  const { vjp } = op;
  if (!vjp) {
    refuseInRule(op, inputs, outputs);
    return;
  }
  const targets = targetsOf(op, inputs);
  if (targets.every((target) => target === null)) return;
  const node = new OpNode(op, attrs, targets, inputs, outputs);
  outputs[0]!.setGradEdge({ node, index: 0 });
}
