import type { PlannedSubgraph } from '../../../runtime/program/plan.ts';
import type { Program } from '../../../runtime/program/program.ts';
import { isRefused } from '../../../runtime/run-program/refused.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { Guard } from '../../guards/guard.ts';
import { compileReader, type Reader } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import type { Effect, TraceResult } from '../../traces/trace-result.ts';
import type { Frame } from '../../vm/bytecode/frame.ts';
import { rejectedIndices } from './rejected-indices.ts';

/**
 * Gradients of earlier steps that the code frees and no op reads, as `zeroGrad()` at the start of a step does: they are
 * freed before the run, so that new gradients can use their memory. Not done if the program checks anything before it
 * frees them: if the check fails, the code may take another path.
 */
export class EarlyDisposal {
  readonly #tensors: readonly Reader[];
  readonly #owners: readonly Reader[];
  readonly #rejects: ((inputs: readonly Tensor[]) => boolean) | null;
  /** The owners of gradients that were freed for a rejected run. */
  #ofRejected: readonly Tensor[] = [];

  private constructor(effects: readonly GradientDisposal[], program: Program) {
    this.#rejects = rejectedIndices(program);
    this.#tensors = effects.map(({ tensor }) => compileReader(tensor));
    this.#owners = effects.map(({ tensor }) => compileReader(tensor.base));
  }

  /**
   * Splits a planned trace's effects into tensors to free before its run and the other effects. `guards`: all guards
   * that hold during the run.
   */
  static of(
    { effects, inputs, program }: TraceResult,
    { forward }: PlannedSubgraph,
    guards: readonly Guard[],
  ): { readonly early: EarlyDisposal | null; readonly late: readonly Effect[] } {
    const entering = inputs.filter((_, i) => !forward.unusedInputs.includes(forward.inputs[i]!));
    const read = new Set(entering.map(sourceKey));
    // An input may be the same tensor under another name.
    for (const guard of guards) {
      if (guard.kind === 'same' && guard.same) {
        read.add(sourceKey(guard.source));
        read.add(sourceKey(guard.other));
      }
    }
    const isEarly = (effect: Effect): effect is GradientDisposal =>
      effect.kind === 'dispose' &&
      effect.when === null &&
      !effect.afterCheck &&
      effect.tensor.kind === 'property' &&
      effect.tensor.key === 'grad' &&
      !read.has(sourceKey(effect.tensor));
    const early = effects.filter(isEarly);
    return {
      early: early.length > 0 ? new EarlyDisposal(early, program) : null,
      late: effects.filter((effect) => !isEarly(effect)),
    };
  }

  /** Whether a label or index among the inputs will be rejected, perhaps before the code frees anything. */
  isRejected(inputs: readonly Tensor[]): boolean {
    return this.#rejects?.(inputs) ?? false;
  }

  dispose(frames: readonly Frame[]): void {
    for (const read of this.#tensors) (read(frames) as Tensor).dispose();
  }

  /**
   * Called after a failed run. A rejected call runs again natively and reads the gradients that it frees itself. After
   * any other failure there are no gradients, as in eager execution.
   */
  runFailed(frames: readonly Frame[], error: unknown): void {
    const owners = this.#owners.map((read) => read(frames) as Tensor);
    if (isRefused(error)) this.#ofRejected = owners;
    else owners.forEach(forget);
  }

  /** Runs a rejected call natively; it may throw before it reaches what it frees. */
  runAgain<T>(run: () => T): T {
    try {
      return run();
    } finally {
      this.#ofRejected.filter(({ grad }) => grad?.disposed).forEach(forget);
      this.#ofRejected = [];
    }
  }
}

function forget(owner: Tensor): void {
  owner.grad = null;
}

type GradientDisposal = Extract<Effect, { kind: 'dispose' }> & {
  readonly tensor: { readonly kind: 'property' };
};
