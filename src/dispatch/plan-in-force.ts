import type { Subgraph } from '../../runtime/run-program/run-program.ts';
import type { CompileOptions } from '../compile/compilation.ts';
import { hasKnownChoices } from '../compile/known-choices.ts';
import type { SubgraphStages } from '../programs/stages.ts';
import { finish, type Steps } from '../programs/steps.ts';
import type { TraceResult } from '../traces/trace-result.ts';
import type { SavedInput } from './ownership/saved-views.ts';

/** A program by one of its plans, ready to run. */
export interface ReadySubgraph {
  readonly stages: SubgraphStages;
  readonly subgraph: Subgraph;
  /** Inputs that its backward keeps, and could keep copies of. */
  readonly savedInputs: readonly SavedInput[];
}

/**
 * So many runs of a first plan come before work on the final one begins. The search takes as long as some tens of
 * runs: a script of fifty steps would only pay for it.
 */
const hotRuns = 64;

/**
 * Programs of at most so many ops get their final plan right away: a first plan wouldn't be there earlier. A GPU builds
 * kernels for each of two plans, which takes longer than planning.
 */
const [smallOps, smallOpsOnGpu] = [8, 100];

/** How a program is compiled before it has proved hot. */
export function firstOptions(wanted: TraceResult, options: CompileOptions): CompileOptions {
  const { program } = wanted;
  const { ops, values } = program;
  const { prefer, budget, savedDtype, offload, order, simplify, slices } = options.memory;
  const isFinal =
    options.backend !== undefined ||
    ops.length <= (values[0]?.device.kind === 'gpu' ? smallOpsOnGpu : smallOps) ||
    prefer === 'bytes' ||
    budget !== null ||
    // What is rounded may depend on the plan.
    savedDtype !== null ||
    offload !== null ||
    !(order || simplify || slices) ||
    // Without its searches it is as soon there, too.
    hasKnownChoices({ program, wanted, options, donated: [] });
  return isFinal ? options : { ...options, tier: 'first' };
}

/**
 * The plan by which a subgraph runs: the first one, which is soon there, until the final one is made. That begins
 * when the subgraph is hot, continues by one step before each run, and changes no bit of any result: which plan is
 * in force depends on the number of runs alone.
 */
export class PlanInForce {
  ready: ReadySubgraph;
  isFinal: boolean;
  /** Null: the plan is final. */
  #better: Steps<ReadySubgraph> | null;
  #runs = 0;

  constructor(first: ReadySubgraph, better: Steps<ReadySubgraph> | null) {
    this.ready = first;
    this.isFinal = better === null;
    this.#better = better;
  }

  /** The plan for a run that begins now. */
  next(): ReadySubgraph {
    if (this.#better !== null && ++this.#runs > hotRuns) {
      const { done, value } = this.#better.next();
      if (done) this.#replace(value);
    }
    return this.ready;
  }

  /** Makes the final plan now. */
  finish(): ReadySubgraph {
    if (this.#better !== null) this.#replace(finish(this.#better));
    return this.ready;
  }

  #replace(ready: ReadySubgraph): void {
    this.ready = ready;
    this.isFinal = true;
    this.#better = null;
  }
}
