import type { BackwardPart } from '../../program/plan.ts';
import type { GradientContribution, ValueId, ValueTable } from '../../program/program.ts';
import type { RequestedGradients } from '../../tensor/grad-node.ts';
import {
  isUnreadGradient,
  leadingOutputs,
  type PartialBackward,
  partialBackward,
} from './partial-backward.ts';

/** One item per output; null or undefined if the output has no gradient. */
type Gradients = readonly unknown[];

/** A backward of a subgraph for one set of outputs with a gradient. */
export class BackwardVariant {
  /** Identifies the combination of missing gradients. */
  readonly key: number | string;
  /** The indices of the outputs with a gradient. */
  readonly outputs: readonly number[];
  /** Whether no gradient is missing and all are requested. */
  readonly isWhole: boolean;
  /** Null if all gradients are requested. */
  readonly requested: RequestedGradients | null;
  readonly #make: (retains: boolean) => PartialBackward;
  #freeing: PartialBackward | null = null;
  #retaining: PartialBackward | null = null;
  readonly #backward: BackwardPart;
  #targetOrder: readonly number[] | null | undefined;

  constructor(
    backward: BackwardPart,
    key: number | string,
    outputs: readonly number[],
    isWhole: boolean,
    requested: RequestedGradients | null,
    make: (retains: boolean) => PartialBackward,
  ) {
    this.#backward = backward;
    this.key = key;
    this.outputs = outputs;
    this.isWhole = isWhole;
    this.requested = requested;
    this.#make = make;
  }

  /** The plan that frees saved values at their last use. */
  get freeing(): PartialBackward {
    this.#freeing ??= this.#make(false);
    return this.#freeing;
  }

  get retaining(): PartialBackward {
    this.#retaining ??= this.#make(true);
    return this.#retaining;
  }

  /** Null for index order. */
  get targetOrder(): readonly number[] | null {
    if (this.#targetOrder === undefined) {
      const { arrivals } = this.#backward;
      this.#targetOrder = arrivals.length === 0 ? null : this.orderOf(arrivals);
    }
    return this.#targetOrder;
  }

  /** Returns the order of the targets that follows from these arrivals. */
  orderOf(arrivals: readonly GradientContribution[]): readonly number[] {
    return orderOfTargets(arrivals, this.#backward.gradInputs, this.outputs);
  }
}

/**
 * Returns the targets in the order in which eager backward completes their gradients. Targets without a gradient
 * come first, so they can't delay a hook.
 */
function orderOfTargets(
  arrivals: readonly GradientContribution[],
  gradInputs: BackwardPart['gradInputs'],
  given: readonly number[],
): readonly number[] {
  const last = gradInputs.map(() => -1);
  arrivals.forEach(({ target, outputs }, i) => {
    if (outputs.some((index) => given.includes(index))) last[target] = i;
  });
  return [...last.keys()].sort((a, b) => last[a]! - last[b]!);
}

/** All variants of a backward, created on first use. A look-up allocates nothing for a small number of outputs. */
export class BackwardVariants {
  readonly #backward: BackwardPart;
  readonly #values: ValueTable;
  readonly #known = new Map<number | string, BackwardVariant>();

  constructor(backward: BackwardPart, values: ValueTable) {
    this.#backward = backward;
    this.#values = values;
  }

  /**
   * Returns the backward for the outputs that have a gradient, limited to the `requested` gradients. `expected` is
   * the likely result.
   */
  of(
    gradients: Gradients,
    requested: RequestedGradients | null = null,
    expected: BackwardVariant | null = null,
  ): BackwardVariant {
    const only = requested && this.#limited(requested);
    const outputs = this.#keyOf(gradients);
    const key = only
      ? `${outputs}>${only.targets.map(Number).join('')}>${[...only.outputs]}`
      : outputs;
    if (expected?.key === key) return expected;
    let known = this.#known.get(key);
    if (!known) {
      known = this.#made(key, gradients, only);
      this.#known.set(key, known);
    }
    return known;
  }

  /** Returns the backward for these output indices. */
  ofOutputs(
    outputs: ReadonlySet<number>,
    requested: RequestedGradients | null = null,
  ): BackwardVariant {
    return this.of(
      this.#backward.gradOutputs.map((_, i) => outputs.has(i)),
      requested,
    );
  }

  leadingOutputs(requested: RequestedGradients): ReadonlySet<number> {
    return leadingOutputs(this.#backward, requested);
  }

  /** Returns null if nothing is omitted. */
  #limited(requested: RequestedGradients): RequestedGradients | null {
    const { gradInputs, plan } = this.#backward;
    const isAll = gradInputs.every((id, i) => id === null || requested.targets[i]);
    return isAll && !plan.steps.some(isUnreadGradient) ? null : requested;
  }

  /** Returns the set of missing gradients as bits of a number, or as text. */
  #keyOf(gradients: Gradients): number | string {
    const { gradOutputs } = this.#backward;
    if (gradOutputs.length > 31) {
      return gradOutputs.map((id, i) => (id === null || gradients[i] ? 0 : 1)).join('');
    }
    let key = 0;
    for (let i = 0; i < gradOutputs.length; i++) {
      if (gradOutputs[i] !== null && !gradients[i]) key |= 1 << i;
    }
    return key;
  }

  #made(
    key: number | string,
    gradients: Gradients,
    requested: RequestedGradients | null,
  ): BackwardVariant {
    const { gradOutputs, gradInputs, plan, retainingPlan } = this.#backward;
    const missing = new Set<ValueId>();
    gradOutputs.forEach((id, i) => {
      if (id !== null && !gradients[i]) missing.add(id);
    });
    const isWhole = missing.size === 0 && !requested;
    const outputs = [...gradOutputs.keys()].filter((i) => gradOutputs[i] !== null && gradients[i]);
    return new BackwardVariant(this.#backward, key, outputs, isWhole, requested, (retains) => {
      const from = retains ? retainingPlan : plan;
      const part = partialBackward(this.#backward, from, this.#values, missing, requested);
      return isWhole ? { ...part, plan: from, gradInputs } : part;
    });
  }
}
