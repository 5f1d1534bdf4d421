import type { DataError } from '../../runtime/errors/errors.ts';
import { invariant } from '../../runtime/errors/invariant.ts';
import { spans } from '../../runtime/profiler/spans.ts';
import type { Backend } from '../../runtime/program/backend.ts';
import type { Program, ValueId } from '../../runtime/program/program.ts';
import type { Pass, PassContext, Staged } from '../5-optimize/facts/pass.ts';
import { SharedPasses } from '../5-optimize/facts/shared-passes.ts';
import { runPasses } from '../5-optimize/run-passes.ts';
import { Choices } from '../programs/choices.ts';
import { type MemoryOptions, memoryOptions } from '../programs/memory-options.ts';
import {
  countPasses,
  type PassCounts,
  type PassRun,
  passObservers,
} from '../programs/pass-record.ts';
import type { SubgraphStages } from '../programs/stages.ts';
import { finish, type Steps } from '../programs/steps.ts';
import { harderIncumbent, type Incumbent } from './incumbent.ts';

/** Options for compiling a traced program. */
export interface CompileOptions {
  readonly memory: MemoryOptions;
  /** Names of disabled passes. */
  readonly without: ReadonlySet<Pass['name']>;
  /** Whether the program is verified after each pass, not only after each phase. */
  readonly verify: boolean;
  /**
   * `first`: a plan that is quick to make, for the first runs, without slices, searches or costing. `final`: the
   * best plan known.
   */
  readonly tier: 'first' | 'final';
  /** Views to copy: backward keeps the copies instead of the larger memory. */
  readonly compact?: readonly ValueId[];
  /**
   * The exchange rate between bytes and arithmetic operations, if several subgraphs share a budget: values that are
   * cheaper to recompute than to keep are not kept for backward.
   */
  readonly rate?: number;
  /** Another candidate: plans that can't beat it are not made. */
  readonly incumbent?: Incumbent;
  /** The choices of earlier searches. Without a store, every search runs. */
  readonly cache?: ChoiceStore;
  /** The backend that runs the programs; by default the kernels of their device. */
  readonly backend?: Backend;
}

/** Everything that determines how a program is compiled. */
export interface CompiledInput {
  readonly program: Program;
  readonly requested: {
    readonly needsGrad: readonly boolean[];
    readonly differentiable: readonly boolean[];
  };
  readonly options: CompileOptions;
  readonly donated: readonly number[];
}

/** Stores choices for later compilations of the same program. */
export interface ChoiceStore {
  has(subject: CompiledInput): boolean;
  /** Returns undefined if there are no choices. Throws DataError if they can't be read. */
  find(subject: CompiledInput): Choices | undefined;
  keep(subject: CompiledInput, choices: Choices): void;
  /** Reports choices that are damaged or belong to other searches; `keep` will replace them. */
  refuse(subject: CompiledInput, why: DataError): void;
}

export const defaultCompileOptions: CompileOptions = {
  memory: memoryOptions(),
  without: new Set(),
  verify: false,
  tier: 'final',
};

/** One of several alternative plans. */
export interface Candidate<T> {
  readonly made: T;
  /** Adopts the choices made for it. */
  readonly take: () => void;
}

/** Plans a program by the options of a compilation; null if another candidate is at least as cheap. */
export type PlanBy = (by: Compilation) => Steps<SubgraphStages | null>;

/** Returns the plan of a candidate that isn't compared with another one. */
export function* onlyPlan(steps: Steps<SubgraphStages | null>): Steps<SubgraphStages> {
  const stages = yield* steps;
  invariant(stages !== null, 'a candidate without others was not planned');
  return stages;
}

/** The part of the passes' context that their caller determines. */
type OwnContext = Omit<PassContext, 'isFirst' | 'choices'>;

/** One run of the pipeline: its options, and a record of the passes that ran. */
export class Compilation {
  readonly options: CompileOptions;
  /** The choices of the candidate being compiled. */
  choices: Choices;
  readonly #counted: Pick<PassRun, 'pass' | 'applied'>[] = [];

  readonly #shared: SharedPasses;

  constructor(options: CompileOptions, choices: Choices, shared = new SharedPasses()) {
    this.options = options;
    this.choices = choices;
    this.#shared = shared;
  }

  /** Returns a compilation of a candidate with other memory options, which has to beat `other` as well. */
  with(memory: Partial<MemoryOptions>, other?: Incumbent): Compilation {
    const incumbent = harderIncumbent(this.options.incumbent, other);
    const withIncumbent = { ...this.options, ...(incumbent && { incumbent }) };
    const options = { ...withIncumbent, memory: { ...this.memory, ...memory } };
    return new Compilation(options, this.choices, this.#shared);
  }

  get memory(): MemoryOptions {
    return this.options.memory;
  }

  get passes(): PassCounts {
    return countPasses(this.#counted);
  }

  get isFirst(): boolean {
    return this.options.tier === 'first';
  }

  /** Compiles a candidate. The compilation adopts its choices only if the candidate is used. */
  *candidate<T>(begin: () => Steps<T>): Steps<Candidate<T>> {
    const before = this.choices;
    const choices = before.candidate();
    let steps: Steps<T> | undefined;
    for (;;) {
      this.choices = choices;
      steps ??= begin();
      const { done, value } = steps.next();
      this.choices = before;
      if (done) return { made: value, take: () => before.take(choices) };
      yield;
    }
  }

  /** Compiles a candidate; null if it can't beat another one. */
  *candidateBelow<T>(begin: () => Steps<T | null>): Steps<Candidate<T> | null> {
    const { made, take } = yield* this.candidate(begin);
    return made === null ? null : { made, take };
  }

  /** Compiles something with all searches, ignoring earlier choices. */
  apart<T>(compile: () => T): T {
    const before = this.choices;
    this.choices = Choices.none();
    try {
      return compile();
    } finally {
      this.choices = before;
    }
  }

  /** Runs a named phase in steps; the profiler shows each step as a span. */
  *inSteps<T>(name: string, begin: () => Steps<T>): Steps<T> {
    const steps = begin();
    for (;;) {
      const { done, value } = this.phase(name, () => steps.next());
      if (done) return value;
      yield;
    }
  }

  /** Runs a named phase; the profiler shows it as a span. */
  phase<T>(name: string, body: () => T): T {
    if (!spans.active) return body();
    return spans.around({ kind: 'compile', name, device: 'host' }, body);
  }

  /** Phase 5: runs the passes of one stage. */
  optimize(staged: Staged, context: OwnContext): Staged {
    return this.phase('optimize', () => finish(this.#optimize(staged, context)));
  }

  /** Runs the passes of one stage in steps. */
  optimizeInSteps(staged: Staged, context: OwnContext): Steps<Staged> {
    return this.inSteps('optimize', () => this.#optimize(staged, context));
  }

  #optimize(staged: Staged, context: OwnContext): Steps<Staged> {
    const { without, verify } = this.options;
    const { isFirst, choices } = this;
    const record = ({ pass, applied, ...rest }: PassRun) => {
      this.#counted.push({ pass, applied });
      passObservers.notify({ pass, applied, ...rest, isFirst });
    };
    const settings = { without, verify, record };
    // Fused ops depend on the order: another plan can't reuse them.
    const isInOrder = context.stage === 'ordered' || context.stage === 'fused';
    const shared = isInOrder ? undefined : this.#shared;
    return runPasses(staged, { ...context, isFirst, choices }, settings, shared);
  }
}
