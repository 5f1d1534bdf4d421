import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';
import type { UserPosition } from '../../../runtime/errors/position.ts';
import type { GradNode } from '../../../runtime/tensor/grad-node.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { keptBecause } from '../../traces/kept-loops.ts';
import type { Pc } from '../../vm/bytecode/instructions.ts';
import type { Loop } from '../../vm/bytecode/structure.ts';
import { CopiedViews } from '../control-flow/plans/copied-views.ts';
import type { LoopPlans } from '../control-flow/plans/loop-plans.ts';
import type { PathEnd } from '../control-flow/plans/path.ts';
import { TensorConditions } from '../control-flow/plans/tensor-conditions.ts';
import { DeterminedScalars } from '../variables/determined-scalars.ts';
import { SampleNumbers } from '../variables/sample-numbers.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import type { Variable } from '../variables/variable.ts';
import { type PathBudget, PathLimit } from './path-limit.ts';
import { regionWith } from './region-builder.ts';
import { RequiredGradients } from './required-gradients.ts';

/**
 * Where data-dependent decisions become part of the program. `always`: everywhere, including writes to the console.
 * `possible`: wherever both paths produce mergeable values; otherwise the graph breaks. `functions`: only in `cond`,
 * `whileLoop` and similar functions.
 */
export type ControlPolicy = 'always' | 'possible' | 'functions';

interface ActiveLoop {
  readonly frame: TraceFrame;
  readonly loop: Loop;
}

interface Path {
  readonly frame: TraceFrame;
  readonly stops: ReadonlySet<Pc>;
}

/** A decision whose paths are being traced. */
interface ActiveDecision {
  /** The objects that the trace had created before it. */
  readonly existing: ReadonlySet<Variable>;
  /** The number of active loops around it. */
  readonly loops: number;
}

export interface ControlLimits {
  /** JavaScript loops with more iterations become loops of the program. */
  readonly unrollLimit?: number;
  /** The maximum number of paths that are traced for one decision. */
  readonly pathLimit?: number;
  /** The budget of paths for all decisions, if the function doesn't have to be one program; unlimited by default. */
  readonly pathBudget?: PathBudget;
}

/** The state of control-flow capture: the loops and paths that are being traced. */
export class GraphControl {
  readonly policy: ControlPolicy;
  readonly plans: LoopPlans;
  readonly copied = new CopiedViews();
  readonly tensorConditions = new TensorConditions();
  readonly required = new RequiredGradients();
  readonly samples = new SampleNumbers();
  readonly determined = new DeterminedScalars((at) => regionWith(at)?.capturedAs(at));
  readonly paths: PathLimit;
  /** Positions of the branches and loops whose result may be the tensor. */
  readonly mergedInto = new WeakMap<Tensor, UserPosition[]>();
  readonly #loops: ActiveLoop[] = [];
  readonly #paths: Path[] = [];
  readonly #decisions: ActiveDecision[] = [];
  /** The loop whose head is being traced: a decision that may leave the loop ends the head. */
  #head: (ActiveLoop & { readonly depth: number }) | null = null;
  /** For branches and loops through which a higher-order gradient would flow: plans a trace without them. */
  readonly #avoided = new WeakMap<GradNode, () => void>();
  /** The nesting depth of decisions that are being traced to the end of the function. */
  tails = 0;
  /** Whether a number read from a tensor is a program value. */
  hasRead = false;
  /** Whether text contains an outer number that each run formats. */
  formatsOuterNumbers = false;
  /** Set by an instruction that ends the current path. */
  ended: PathEnd | null = null;
  /** Set by an instruction that makes the top frame return. */
  returning: Variable | null = null;

  /** Iterations of unrolled loops since each loop was entered. */
  readonly #iterations = new WeakMap<TraceFrame, Map<Pc, number>>();
  readonly #unrollLimit: number;

  constructor(
    policy: ControlPolicy,
    plans: LoopPlans,
    {
      unrollLimit = Number.POSITIVE_INFINITY,
      pathLimit = Number.POSITIVE_INFINITY,
      pathBudget,
    }: ControlLimits,
  ) {
    this.paths = new PathLimit(pathLimit, policy === 'always' ? pathBudget : undefined);
    this.#unrollLimit = unrollLimit;
    this.policy = policy;
    this.plans = plans;
  }

  get limitsUnrolling(): boolean {
    return this.policy === 'always' && this.#unrollLimit < Number.POSITIVE_INFINITY;
  }

  /** `avoid`: restarts the trace, so that higher-order gradients don't pass through the node. */
  noteRegion(results: readonly Tensor[], avoid: () => void): void {
    const node = results.find(({ gradEdge }) => gradEdge)?.gradEdge?.node;
    if (node) this.#avoided.set(node, avoid);
  }

  /** Restarts the trace without the node's region; returns if that is impossible. */
  avoid(node: GradNode): void {
    if (this.policy === 'always') this.#avoided.get(node)?.();
  }

  noteMerged(tensor: Tensor, at: UserPosition): void {
    getOrInsert(this.mergedInto, tensor, () => []).push(at);
  }

  /**
   * Counts an iteration at the loop header. A loop that exceeds the unroll limit becomes a loop of the program.
   */
  countIteration(frame: TraceFrame, loop: Loop, isFirst: boolean): void {
    const iterations = this.#iterations.get(frame) ?? new Map<Pc, number>();
    const count = isFirst ? 0 : (iterations.get(loop.header) ?? 0) + 1;
    this.#iterations.set(frame, iterations.set(loop.header, count));
    if (count <= this.#unrollLimit) return;
    const why = `${keptBecause.manyIterations} (${this.#unrollLimit})`;
    this.plans.keep(frame.closure.code, loop, why);
  }

  /** Throws a graph break at a decision that is known to exceed the path limit. */
  expectFewPaths({ closure: { code }, pc }: TraceFrame): void {
    const stop = this.depth === 0 ? this.plans.stopsAt(code, pc) : undefined;
    if (!stop) return;
    const found = new GraphBreak(stop.reason, stop.detail);
    found.at = stop.at;
    throw found;
  }

  /** True if arrays whose length differs between paths become lists of the program. */
  get listsGrow(): boolean {
    return this.policy === 'always' && this.plans.withoutLists === null;
  }

  /** Returns whether the loop's body is being traced in this frame. */
  isActive(frame: TraceFrame, { header }: Loop): boolean {
    return this.#loops.some((each) => each.frame === frame && each.loop.header === header);
  }

  /** True while the body of a program loop is being traced. */
  get isInLoop(): boolean {
    return this.#loops.length > 0;
  }

  inLoop<T>(frame: TraceFrame, loop: Loop, body: () => T): T {
    this.#loops.push({ frame, loop });
    try {
      return body();
    } finally {
      this.#loops.pop();
    }
  }

  inHead<T>(frame: TraceFrame, loop: Loop, body: () => T): T {
    const outer = this.#head;
    this.#head = { frame, loop, depth: this.depth + 1 };
    try {
      return this.inLoop(frame, loop, body);
    } finally {
      this.#head = outer;
    }
  }

  /** Returns the loop whose head ends with this frame's decision between the two paths. */
  endsHead(frame: TraceFrame, whenTrue: Pc, whenFalse: Pc): Loop | undefined {
    const head = this.#head;
    if (head?.frame !== frame || head.depth !== this.depth) return undefined;
    const { body } = head.loop;
    return body.has(whenTrue) === body.has(whenFalse) ? undefined : head.loop;
  }

  inPath<T>(frame: TraceFrame, stops: ReadonlySet<Pc>, body: () => T): T {
    this.#paths.push({ frame, stops });
    try {
      return body();
    } finally {
      this.#paths.pop();
    }
  }

  /** Traces the paths of a decision. `existing`: the objects that the trace created before it. */
  inDecision<T>(existing: ReadonlySet<Variable>, body: () => T): T {
    this.#decisions.push({ existing, loops: this.#loops.length });
    try {
      return body();
    } finally {
      this.#decisions.pop();
    }
  }

  /** Returns whether the object was created before the innermost decision, in the same iteration of a loop. */
  isMadeBefore(object: Variable): boolean {
    const decision = this.#decisions.at(-1);
    return decision?.loops === this.#loops.length && decision.existing.has(object);
  }

  /** Returns the stops of the innermost path, if it belongs to this frame; otherwise an empty set. */
  stopsIn(frame: TraceFrame): ReadonlySet<Pc> {
    const path = this.#paths[this.#paths.length - 1];
    return path?.frame === frame ? path.stops : noStops;
  }

  /** The innermost path, with its frame and stops; null outside any path. */
  get innermost(): Path | null {
    return this.#paths.at(-1) ?? null;
  }

  /**
   * Returns whether every active path runs to the end of the captured function, so that only return values are
   * merged after it.
   */
  endsWith(captured: TraceFrame): boolean {
    return this.#paths.every(({ frame, stops }) => frame === captured && stops.size === 0);
  }

  /** The nesting depth of decisions. */
  get depth(): number {
    return this.#paths.length;
  }
}

const noStops: ReadonlySet<Pc> = new Set();
