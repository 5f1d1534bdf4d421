import type { Program, ValueId } from '../../../runtime/program/program.ts';
import type { Choices } from '../../programs/choices.ts';
import type { MemoryOptions } from '../../programs/memory-options.ts';
import type { Steps } from '../../programs/steps.ts';

/**
 * The kind of program that a pass works on: `traced`, a program before differentiation; `joint`, forward and backward
 * in one line; `step`, a program that is run as a whole, in which a backward may already be part; `region`, the program
 * of a branch, loop body or call; `again`, a joint program whose backward is to be differentiated; `ordered`, forward
 * or backward in the order of its plan, which a pass keeps.
 */
export type Stage = 'traced' | 'joint' | 'step' | 'region' | 'again' | 'ordered';

/** A program with its boundary between forward and backward. */
export interface Staged {
  readonly program: Program;
  /** Number of the first op after forward: what it reads of forward has to be kept. */
  readonly firstLate: number;
  /** Values besides the program's outputs that are read after it: forward outputs of a joint program. */
  readonly alsoRead: readonly ValueId[];
}

export interface PassContext {
  readonly stage: Stage;
  /** A plan that is needed immediately: nothing is costed that is right anyway, nor searched twice. */
  readonly isFirst?: boolean;
  /** The choices of searches in an earlier compilation of the same program; new ones are noted there. */
  readonly choices?: Choices;
  readonly memory: MemoryOptions;
  /** Number of gradients that the caller may pass. */
  readonly gradOutputs: number;
  /** Estimates the peak bytes of a program; of stage `ordered`, counts them. */
  readonly costOf: (program: Program) => number;
  /** Stage `ordered`: values that stay results of ops of their own. */
  readonly fixed?: ReadonlySet<ValueId>;
  /** Stage `ordered`: the optional gradients among the inputs of a backward program, if there are several. */
  readonly gradients?: readonly ValueId[];
  /** Stage `ordered`: values that an earlier program has made. */
  readonly available?: readonly ValueId[];
}

/**
 * One transformation. In: a verified program. Out: a verified program whose outputs, writes in place and
 * effects have the same bits, in the same order. Value ids of forward keep their meaning.
 */
export interface Pass {
  readonly name: string;
  readonly stages: readonly Stage[];
  /** Whether the pass runs; by default it runs at each of its stages. */
  readonly enabled?: (context: PassContext) => boolean;
  /** Runs the pass. One that often estimates costs runs in steps. */
  readonly run: (given: Staged, context: PassContext) => Staged | Steps<Staged>;
}
