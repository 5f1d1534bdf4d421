import type { Device } from '../device/device.ts';
import { downloadAhead } from '../device/downloads.ts';
import { type Attrs, operandUse } from '../device/kernel-op.ts';
import { formatSpec } from '../device/tensor-meta.ts';
import { AutogradError } from '../errors/errors.ts';
import type { Gradient, OpRecord, SaveKind } from '../ops/record/define-op.ts';
import { dtypes } from '../spec/dtype.ts';
import { GradNode, type Target, targetOf } from '../tensor/grad-node.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { SavedValue } from './saved-value.ts';
import { share } from './share.ts';

/** The backward node of an op. Saves only the values that the needed gradients declare. */
export class OpNode extends GradNode {
  readonly name: string;
  readonly #attrs: Attrs;
  readonly #target: Device | undefined;
  readonly #plan: GradientPlan;
  /** The saved values, parallel to `#plan.saves`. */
  readonly #saved: SavedValue[] = [];

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
    this.#target = op.target;
    this.#plan = planFor(op, targets);
    for (const { kind, operand, output } of this.#plan.saves) {
      const value = operand >= 0 ? inputs[operand]! : outputs[output]!;
      this.#saved.push(new SavedValue(value, kind));
    }
  }

  /** The values kept for backward, for inspection. */
  get saved(): ReadonlyMap<string, SavedValue> {
    return new Map(this.#plan.saves.map(({ name }, i) => [name, this.#saved[i]!]));
  }

  override get readsSaved(): boolean {
    return this.#plan.readsSaved;
  }

  override apply(
    gradOutputs: readonly (Tensor | null | undefined)[],
    _retainGraph: boolean,
    requested: readonly boolean[],
  ): (Tensor | null)[] {
    const gradOutput = gradOutputs[0];
    if (!gradOutput) return this.targets.map(() => null);
    // A `tidy` per operand frees the temporaries of one gradient before the next is computed; the outer `tidy` frees
    // earlier gradients after an error.
    return tidy(() =>
      this.#plan.gradients.map((gradient, i) =>
        gradient && requested[i] ? tidy(() => this.#gradientFor(gradient, gradOutput, i)) : null,
      ),
    );
  }

  /** Waits for the gradient of a transfer to reach its operand's device. */
  override awaits([gradOutput]: readonly (Tensor | null | undefined)[]): Promise<null> | null {
    if (!this.#target || gradOutput?.device.kind !== 'gpu') return null;
    return downloadAhead(gradOutput, gradOutput).then(() => null);
  }

  protected override releaseSaved(): void {
    for (const value of this.#saved) value.release();
  }

  #gradientFor(gradient: Gradient, gradOutput: Tensor, index: number): Tensor {
    const saved: Record<string, Tensor> = {};
    for (const at of this.#plan.reads[index]!) {
      const save = this.#plan.saves[at]!;
      saved[save.name] = this.#saved[at]!.read(this.name, this.#placeOf(save));
    }
    const result = insideRule(() => gradient.rule(saved, gradOutput, this.#attrs, index));
    // The engine owns the results, so a gradient that is passed on needs a new handle.
    return result === gradOutput ? share(result) : result;
  }

  /** Returns a saved value's place in the graph. It can't be kept for an output: the node would own itself. */
  #placeOf({ operand, output }: Save): Target {
    if (operand >= 0) return this.targets[operand] ?? null;
    return output === 0 ? { node: this, index: 0 } : null;
  }
}

/** One saved value: an operand, or an output if `operand` is −1. */
interface Save {
  readonly name: string;
  readonly kind: SaveKind;
  readonly operand: number;
  readonly output: 0 | 1;
}

/** Facts determined by the op and by which of its inputs need a gradient. */
interface GradientPlan {
  readonly gradients: readonly (Gradient | null)[];
  readonly saves: readonly Save[];
  /** Whether any value is saved with its data. */
  readonly readsSaved: boolean;
  /** The indices in `saves` of the values that each gradient reads. */
  readonly reads: readonly (readonly number[])[];
}

const plans = new WeakMap<OpRecord, Map<number | string, GradientPlan>>();

function planFor(op: OpRecord, targets: readonly Target[]): GradientPlan {
  let ofOp = plans.get(op);
  if (!ofOp) {
    ofOp = new Map();
    plans.set(op, ofOp);
  }
  const key = keyOf(targets);
  let plan = ofOp.get(key);
  if (!plan) {
    plan = newPlan(op, targets);
    ofOp.set(key, plan);
  }
  return plan;
}

/** Returns a key for the set of inputs that need a gradient: with up to 30 inputs, a bit for each below a leading 1. */
function keyOf(targets: readonly Target[]): number | string {
  if (targets.length > 30) return targets.map((target) => (target ? 1 : 0)).join('');
  let key = 1;
  for (let i = 0; i < targets.length; i++) key = key * 2 + (targets[i] ? 1 : 0);
  return key;
}

function newPlan(op: OpRecord, targets: readonly Target[]): GradientPlan {
  const gradients = targets.map((target, i) =>
    target ? (op.vjp?.[operandName(op, i)] ?? null) : null,
  );
  const kinds = new Map<string, SaveKind>();
  for (const gradient of gradients) {
    for (const [name, kind] of Object.entries(gradient?.saves ?? {})) {
      if (kinds.get(name) !== 'value') kinds.set(name, kind!);
    }
  }
  const names = [...kinds.keys()];
  return {
    gradients,
    readsSaved: [...kinds.values()].includes('value'),
    // The operands of a backward op have the names of the forward op's outputs.
    saves: names.map((name) => {
      const operand = operandIndex(op, name);
      return { name, kind: kinds.get(name)!, operand, output: name === 'out' ? 0 : 1 };
    }),
    reads: gradients.map((gradient) =>
      Object.keys(gradient?.saves ?? {}).map((name) => names.indexOf(name)),
    ),
  };
}

function operandName(op: OpRecord, index: number): string {
  return op.operands[Math.min(index, op.operands.length - 1)]!.name;
}

function operandIndex(op: OpRecord, name: string): number {
  return op.operands.findIndex((operand) => operand.name === name);
}

/** Returns the gradient targets of an op's inputs; null for inputs that need or have no gradient. */
export function targetsOf(op: OpRecord, inputs: readonly Tensor[]): Target[] {
  const { vjp } = op;
  const targets: Target[] = [];
  for (let i = 0; i < inputs.length; i++) {
    const differentiable =
      inputs[i]!.requiresGrad &&
      vjp !== undefined &&
      operandName(op, i) in vjp &&
      operandUse(op, i) === 'data';
    targets.push(differentiable ? targetOf(inputs[i]!) : null);
  }
  return targets;
}

let rules = 0;

/** Marks the run of a gradient rule: if it is recorded, an op without gradient must not count as constant. */
function insideRule<T>(body: () => T): T {
  rules++;
  try {
    return body();
  } finally {
    rules--;
  }
}

function refuseInRule(op: OpRecord, inputs: readonly Tensor[], outputs: readonly Tensor[]): void {
  if (op.flat || !dtypes[outputs[0]!.dtype].floating) return;
  const lost = inputs.find((input, i) => input.requiresGrad && operandUse(op, i) === 'data');
  if (!lost) return;
  throw new AutogradError({
    what: `${op.name}: its gradient cannot be differentiated again`,
    given: `${op.name} of a ${formatSpec(lost)} tensor in a backward with createGraph`,
    expected: 'ops whose gradients can be differentiated again',
    remedy: 'leave createGraph out, or compute this part from other ops',
  });
}

export function anyRequiresGrad(inputs: readonly Tensor[]): boolean {
  for (let i = 0; i < inputs.length; i++) if (inputs[i]!.requiresGrad) return true;
  return false;
}

/** Records the op if any input needs a gradient through it. Must be called with gradients enabled. */
export function recordOp(
  op: OpRecord,
  attrs: Attrs,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
): void {
  const { vjp } = op;
  if (!vjp) {
    if (rules > 0) refuseInRule(op, inputs, outputs);
    return;
  }
  if (!anyRequiresGrad(inputs)) return;
  const targets = targetsOf(op, inputs);
  if (!targets.some((target) => target !== null)) return;
  const node = new OpNode(op, attrs, targets, inputs, outputs);
  outputs[0]!.setGradEdge({ node, index: 0 });
}
