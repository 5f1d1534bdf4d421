import type { Subgraph } from '../../runtime/run-program/run-program.ts';
import type { CompileOptions } from '../compile/compilation.ts';
import { hasKnownChoices } from '../compile/known-choices.ts';
import type { SubgraphStages } from '../programs/stages.ts';
import { finish, type Steps } from '../programs/steps.ts';
import type { TraceResult } from '../traces/trace-result.ts';
import type { SavedInput } from './ownership/saved-views.ts';

/** A program with one of its plans, ready to run. */
export interface ReadySubgraph {
  readonly stages: SubgraphStages;
  readonly subgraph: Subgraph;
  /** Inputs that its backward keeps, but could keep copies of instead. */
  readonly savedInputs: readonly SavedInput[];
}

/**
 * Runs of a first plan before work on the final one begins. The search takes as long as dozens of runs, which never
 * pays off in a script of fifty steps.
 */
const hotRuns = 64;

/**
 * Programs of at most this many ops get their final plan immediately: a first plan wouldn't be ready earlier. A GPU
 * would build kernels for both plans, which takes longer than planning.
 */
const [smallOps, smallOpsOnGpu] = [8, 100];

/** Returns the options for compiling a program before it is hot. */
export function firstOptions(requested: TraceResult, options: CompileOptions): CompileOptions {
  const { program } = requested;
  const { ops, values } = program;
  const { prefer, budget, savedDtype, offload, order, simplify, slices } = options.memory;
  const isFinal =
    options.backend !== undefined ||
    ops.length <= (values[0]?.device.kind === 'gpu' ? smallOpsOnGpu : smallOps) ||
    prefer === 'bytes' ||
    budget !== null ||
    // The plan may decide which values are rounded.
    savedDtype !== null ||
    offload !== null ||
    !(order || simplify || slices) ||
    // With known searches, the final plan is ready just as soon.
    hasKnownChoices({ program, requested, options, donated: [] });
  return isFinal ? options : { ...options, tier: 'first' };
}

/**
 * The current plan of a subgraph: the first plan, which is ready soon, until the final one is made. Work on the final
 * plan begins when the subgraph is hot and advances by one step before each run. Results don't depend on the plan, and
 * the current plan depends only on the number of runs.
 */
export class CurrentPlan {
  ready: ReadySubgraph;
  isFinal: boolean;
  /** Null if the plan is final. */
  #better: Steps<ReadySubgraph> | null;
  #runs = 0;

  constructor(first: ReadySubgraph, better: Steps<ReadySubgraph> | null) {
    this.ready = first;
    this.isFinal = better === null;
    this.#better = better;
  }

  /** Returns the plan for the run that is about to begin. */
  next(): ReadySubgraph {
    if (this.#better !== null && ++this.#runs > hotRuns) {
      const { done, value } = this.#better.next();
      if (done) this.#replace(value);
    }
    return this.ready;
  }

  /** Completes the final plan now. */
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
