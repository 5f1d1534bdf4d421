import type { Program, ValueId } from '../../../runtime/program/program.ts';
import type { Choices } from '../../programs/choices.ts';
import type { MemoryOptions } from '../../programs/memory-options.ts';
import type { Steps } from '../../programs/steps.ts';

/**
 * The kind of program that a pass works on: `traced`, a program before differentiation; `joint`, forward and backward
 * in one program; `step`, a program that runs as a whole and may include a backward; `region`, the program of a branch,
 * loop body or call; `again`, a joint program whose backward will be differentiated; `ordered`, forward or backward in
 * the order of its plan, which passes keep; `fused`, the same program after that stage, ordered again.
 */
type Stage = 'traced' | 'joint' | 'step' | 'region' | 'again' | 'ordered' | 'fused';

/** A program with its boundary between forward and backward. */
export interface Staged {
  readonly program: Program;
  /** Index of the first op after forward: values of forward that it reads have to be kept. */
  readonly firstLate: number;
  /** Values read after the program besides its outputs: forward outputs of a joint program. */
  readonly alsoRead: readonly ValueId[];
}

export interface PassContext {
  readonly stage: Stage;
  /** For a plan that is needed immediately: skips costs and searches where an acceptable choice is known. */
  readonly isFirst?: boolean;
  /** The choices of searches in an earlier compilation of the same program, or a record for new ones. */
  readonly choices?: Choices;
  readonly memory: MemoryOptions;
  /** The number of gradients that the caller may pass. */
  readonly gradOutputs: number;
  /** Estimates the peak bytes of a program; in stages `ordered` and `fused`, counts them exactly. */
  readonly costOf: (program: Program) => number;
  /** Stage `fused`: the peak of the program before it was ordered again. */
  readonly peakBefore?: number | undefined;
  /** Stages `ordered` and `fused`: values that must remain results of separate ops. */
  readonly fixed?: ReadonlySet<ValueId>;
  /** Stages `ordered` and `fused`: the optional gradients among the inputs of a backward program, if there are several. */
  readonly gradients?: readonly ValueId[];
  /** Stages `ordered` and `fused`: values that an earlier program computed. */
  readonly available?: readonly ValueId[];
}

/**
 * One transformation. In: a verified program. Out: a verified program whose outputs, in-place writes and effects
 * have the same bits, in the same order. Value ids of forward keep their meaning.
 */
export interface Pass {
  readonly name: string;
  readonly stages: readonly Stage[];
  /** Whether the pass runs; by default it does at each of its stages. */
  readonly enabled?: (context: PassContext) => boolean;
  /** Runs the pass; in steps if it makes many cost estimates. */
  readonly run: (staged: Staged, context: PassContext) => Staged | Steps<Staged>;
}
