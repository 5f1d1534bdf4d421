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
import type { TraceFrame } from '../variables/trace-frame.ts';
import type { Variable } from '../variables/variable.ts';
import { PathLimit } from './path-limit.ts';
import { RequiredGradients } from './required-gradients.ts';

/**
 * Where decisions on values of the program become part of it. `always`: wherever they stand, and writes to
 * the console, too. `possible`: wherever both paths produce mergeable values; else the graph
 * breaks. `functions`: only in `cond`, `whileLoop` and their like.
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

export interface ControlLimits {
  /** JavaScript loops that take more iterations are to be loops of the program. */
  readonly unrollLimit?: number;
  /** No more paths are traced for one decision. */
  readonly pathLimit?: number;
}

/** How far the trace is in the control flow that becomes part of the program. */
export class GraphControl {
  readonly policy: ControlPolicy;
  readonly plans: LoopPlans;
  readonly copied = new CopiedViews();
  readonly tensorConditions = new TensorConditions();
  readonly required = new RequiredGradients();
  readonly paths: PathLimit;
  /** Branches and loops whose results may be a tensor. */
  readonly mergedInto = new WeakMap<Tensor, UserPosition[]>();
  readonly #loops: ActiveLoop[] = [];
  readonly #paths: Path[] = [];
  /** The head of a loop is being followed: a decision that may leave the loop ends it. */
  #head: (ActiveLoop & { readonly depth: number }) | null = null;
  /** Plans for branches and loops through which a gradient of a gradient would go. */
  readonly #avoided = new WeakMap<GradNode, () => void>();
  /** How many decisions, one inside the other, are being followed to the end. */
  tails = 0;
  /** A number was read of a tensor and stayed in the program. */
  hasRead = false;
  /** Set by an instruction that the path being followed ends with. */
  ended: PathEnd | null = null;
  /** Set by an instruction with which the top frame returns. */
  returning: Variable | null = null;

  /** Iterations that unrolled loops have made since they were entered. */
  readonly #iterations = new WeakMap<TraceFrame, Map<Pc, number>>();
  readonly #unrollLimit: number;

  constructor(
    policy: ControlPolicy,
    plans: LoopPlans,
    { unrollLimit = Number.POSITIVE_INFINITY, pathLimit = Number.POSITIVE_INFINITY }: ControlLimits,
  ) {
    this.paths = new PathLimit(pathLimit);
    this.#unrollLimit = unrollLimit;
    this.policy = policy;
    this.plans = plans;
  }

  get limitsUnrolling(): boolean {
    return this.policy === 'always' && this.#unrollLimit < Number.POSITIVE_INFINITY;
  }

  /** `avoid`: the function is traced again, and the node is not on the way of what asks for such a gradient. */
  noteRegion(results: readonly Tensor[], avoid: () => void): void {
    const node = results.find(({ gradEdge }) => gradEdge)?.gradEdge?.node;
    if (node) this.#avoided.set(node, avoid);
  }

  /** Returns where nothing more can be done. */
  avoid(node: GradNode): void {
    if (this.policy === 'always') this.#avoided.get(node)?.();
  }

  noteMerged(tensor: Tensor, at: UserPosition): void {
    const places = this.mergedInto.get(tensor);
    if (places) places.push(at);
    else this.mergedInto.set(tensor, [at]);
  }

  /** The frame is at the header. With more iterations than are unrolled it is to be a loop of the program. */
  countIteration(frame: TraceFrame, loop: Loop, isFirst: boolean): void {
    const iterations = this.#iterations.get(frame) ?? new Map<Pc, number>();
    const count = isFirst ? 0 : (iterations.get(loop.header) ?? 0) + 1;
    this.#iterations.set(frame, iterations.set(loop.header, count));
    if (count <= this.#unrollLimit) return;
    const why = `${keptBecause.manyIterations} (${this.#unrollLimit})`;
    this.plans.keep(frame.closure.code, loop, why);
  }

  /** Throws a break at a decision that is known to take too many paths. */
  expectFewPaths({ closure: { code }, pc }: TraceFrame): void {
    const stop = this.depth === 0 ? this.plans.stopsAt(code, pc) : undefined;
    if (!stop) return;
    const found = new GraphBreak(stop.reason, stop.detail);
    found.at = stop.at;
    throw found;
  }

  /** Arrays whose length differs from path to path become lists of the program. */
  get listsGrow(): boolean {
    return this.policy === 'always' && this.plans.withoutLists === null;
  }

  /** The body of the loop is being followed in this activation. */
  isActive(frame: TraceFrame, { header }: Loop): boolean {
    return this.#loops.some((each) => each.frame === frame && each.loop.header === header);
  }

  /** The body of some loop of the program is being followed. */
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

  /** The loop whose head ends with a decision of this activation between the two paths. */
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

  /** Where the innermost path of this activation ends; empty outside of any. */
  stopsIn(frame: TraceFrame): ReadonlySet<Pc> {
    const path = this.#paths[this.#paths.length - 1];
    return path?.frame === frame ? path.stops : noStops;
  }

  /** The frame that the innermost path belongs to, and where it ends; null outside of any. */
  get innermost(): Path | null {
    return this.#paths.at(-1) ?? null;
  }

  /** Every path that is being followed ends with the captured function: nothing is merged after it but what is returned. */
  endsWith(captured: TraceFrame): boolean {
    return this.#paths.every(({ frame, stops }) => frame === captured && stops.size === 0);
  }

  /** How many decisions deep the trace is. */
  get depth(): number {
    return this.#paths.length;
  }
}

const noStops: ReadonlySet<Pc> = new Set();
