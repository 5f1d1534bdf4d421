import { formatPosition, type UserPosition } from '../../../runtime/errors/position.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import type { BreakRecord, GraphBreak } from '../../traces/graph-break.ts';
import { keptBecause } from '../../traces/kept-loops.ts';
import type { LoopDecision } from '../../traces/trace-result.ts';
import type { Code } from '../../vm/bytecode/code.ts';
import type { Pc } from '../../vm/bytecode/instructions.ts';
import type { Loop } from '../../vm/bytecode/structure.ts';
import type { Birth } from '../variables/grown-list.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import type { Variable } from '../variables/variable.ts';
import { CopiedViews } from './copied-views.ts';
import { LoopMemory } from './loops/loop-memory.ts';
import { RequiredGradients } from './merge/required-gradients.ts';
import type { PathEnd } from './path.ts';
import { TensorConditions } from './tensor-conditions.ts';

/**
 * Where decisions on values of the program become part of it. `always`: wherever they stand, and writes to
 * the console, too. `possible`: wherever they stand and both ways come together alike; else the graph
 * breaks. `functions`: only in `cond`, `whileLoop` and their like.
 */
export type ControlPolicy = 'always' | 'possible' | 'functions';

/** What is known of a loop whose end depends on values of the program. `peeled`: one after its first turn. */
type LoopPlan = 'while' | 'peeled' | 'unrolled';

/** What earlier attempts to trace the same function have found out about its loops. */
export class LoopPlans {
  readonly #plans = new Map<Code, Map<Pc, LoopPlan>>();
  readonly #breaks = new Map<Code, Set<Pc>>();
  readonly #growing = new Map<Code, Set<Pc>>();
  readonly #growingOutside = new Set<string>();
  /** Loops that are followed turn by turn, and why. */
  readonly unrolled: LoopDecision[] = [];
  /** Loops of the host that are loops of the program, and why. */
  readonly kept: LoopDecision[] = [];

  /** Why the last loop that could not be one is followed turn by turn. */
  unrolledBecause: GraphBreak | null = null;

  readonly #byIdentity = new Set<string>();

  /** Passed functions that are to be the same ones at each call. */
  isByIdentity(place: string): boolean {
    return this.#byIdentity.has(place);
  }

  guardByIdentity(place: string): void {
    this.#byIdentity.add(place);
  }

  readonly #native = new WeakSet<object>();

  /** Classes whose instances leave the trace, with elements that only their constructors can add. */
  isConstructedNatively(type: object): boolean {
    return this.#native.has(type);
  }

  constructNatively(type: object): void {
    this.#native.add(type);
  }

  get isEmpty(): boolean {
    return this.#plans.size === 0;
  }

  of(code: Code, { header }: Loop): LoopPlan | undefined {
    return this.#plans.get(code)?.get(header);
  }

  /** The function is traced again from its start. */
  choose(code: Code, { header }: Loop, plan: LoopPlan): never {
    const plans = this.#plans.get(code) ?? new Map<Pc, LoopPlan>();
    this.#plans.set(code, plans.set(header, plan));
    throw new TraceAgain();
  }

  /** The host counts its turns, and yet it is to be a loop of the program: the function is traced again. */
  keep(code: Code, loop: Loop, why: string): never {
    this.kept.push({ at: positionOf(code, loop), why });
    return this.choose(code, loop, 'while');
  }

  /** It can't be a loop of the program: the function is traced again, and follows it turn by turn. */
  unroll(code: Code, loop: Loop, why: GraphBreak): never {
    this.unrolled.push({ at: positionOf(code, loop), why: why.detail });
    this.unrolledBecause = why;
    return this.choose(code, loop, 'unrolled');
  }

  /** Why what is followed with lists is no program: it is followed without them. Null: not yet. */
  withoutLists: BreakRecord | null = null;
  /** Tensors whose shape differs from turn to turn are of a shape that only the run knows. */
  shapesDiffer = false;

  /** The function is traced again, with shapes that only the run knows. */
  openShapes(): never {
    this.shapesDiffer = true;
    throw new TraceAgain();
  }

  /** Whether tensors require gradients is kept where only the run knows it. */
  tracksGradients = false;

  /** The function is traced again, and keeps it. */
  trackGradients(): never {
    this.tracksGradients = true;
    throw new TraceAgain();
  }

  readonly #toldApart = new Set<string>();

  /** Tensors that paths of the decision there leave are told apart by which one they are. */
  tellsApart(at: UserPosition | undefined): boolean {
    return at !== undefined && this.#toldApart.has(formatPosition(at));
  }

  /** From the next time on the tensors that come together there are told apart. False: they are. */
  tellApart(at: UserPosition): boolean {
    const key = formatPosition(at);
    if (this.#toldApart.has(key)) return false;
    this.#toldApart.add(key);
    return true;
  }

  /** Some array has become a list. */
  usesLists = false;

  /** The function is traced again: arrays whose length differs are choices of lengths, where they can be. */
  leaveLists(record: BreakRecord): never {
    this.withoutLists = record;
    this.#plans.clear();
    this.unrolled.length = 0;
    this.kept.length = 0;
    this.unrolledBecause = null;
    throw new TraceAgain();
  }

  /** Arrays of that literal grow in branches and loops. */
  grows(code: Code, pc: Pc): boolean {
    return this.#growing.get(code)?.has(pc) ?? false;
  }

  /** The function is traced again, with lists for the arrays of that literal. */
  growFrom({ code, pc }: Birth): never {
    const places = this.#growing.get(code) ?? new Set();
    this.#growing.set(code, places.add(pc));
    throw new TraceAgain();
  }

  /** Arrays from outside grow in branches and loops. */
  growsFrom(source: Source): boolean {
    return this.#growingOutside.has(sourceKey(source));
  }

  /** The function is traced again, with a list for that array from outside. */
  growOutside(source: Source): never {
    this.#growingOutside.add(sourceKey(source));
    throw new TraceAgain();
  }

  /** The call there is to run natively. */
  breaksAt(code: Code, pc: Pc): boolean {
    return this.#breaks.get(code)?.has(pc) ?? false;
  }

  /** The function is traced again, up to this call. */
  breakAt(code: Code, pc: Pc): never {
    const places = this.#breaks.get(code) ?? new Set();
    this.#breaks.set(code, places.add(pc));
    throw new TraceAgain();
  }
}

function positionOf({ spans, source }: Code, { header }: Loop): UserPosition | undefined {
  const span = spans[header];
  return span && source.position(span.start);
}

/** Thrown when something was found out that the trace should have known from its start. */
export class TraceAgain extends Error {
  override readonly name = 'TraceAgain';
}

interface ActiveLoop {
  readonly frame: TraceFrame;
  readonly loop: Loop;
}

interface Path {
  readonly frame: TraceFrame;
  readonly stops: ReadonlySet<Pc>;
}

/** How far the trace is in the control flow that becomes part of the program. */
export class GraphControl {
  readonly policy: ControlPolicy;
  readonly plans: LoopPlans;
  readonly loopMemory = new LoopMemory();
  readonly copied = new CopiedViews();
  readonly tensorConditions = new TensorConditions();
  readonly required = new RequiredGradients();
  /** Branches and loops whose results may be a tensor. */
  readonly mergedInto = new WeakMap<Tensor, UserPosition[]>();
  readonly #loops: ActiveLoop[] = [];
  readonly #paths: Path[] = [];
  /** The head of a loop is being followed: a decision that may leave the loop ends it. */
  #head: (ActiveLoop & { readonly depth: number }) | null = null;
  /** A number was read of a tensor and stayed in the program. */
  hasRead = false;
  /** Set by an instruction that the path being followed ends with. */
  ended: PathEnd | null = null;
  /** Set by an instruction with which the top frame returns. */
  returning: Variable | null = null;

  /** Turns that loops of the host have taken since they were entered. */
  readonly #turns = new WeakMap<TraceFrame, Map<Pc, number>>();
  readonly #unrollLimit: number;

  constructor(
    policy: ControlPolicy,
    plans: LoopPlans,
    unrollLimit: number = Number.POSITIVE_INFINITY,
  ) {
    this.#unrollLimit = unrollLimit;
    this.policy = policy;
    this.plans = plans;
  }

  get limitsUnrolling(): boolean {
    return this.policy === 'always' && this.#unrollLimit < Number.POSITIVE_INFINITY;
  }

  noteMerged(tensor: Tensor, at: UserPosition): void {
    const places = this.mergedInto.get(tensor);
    if (places) places.push(at);
    else this.mergedInto.set(tensor, [at]);
  }

  /** The frame is at the header. With more turns than are unrolled it is to be a loop of the program. */
  countTurn(frame: TraceFrame, loop: Loop, isFirst: boolean): void {
    const turns = this.#turns.get(frame) ?? new Map<Pc, number>();
    const count = isFirst ? 0 : (turns.get(loop.header) ?? 0) + 1;
    this.#turns.set(frame, turns.set(loop.header, count));
    if (count <= this.#unrollLimit) return;
    const why = `${keptBecause.manyTurns} (${this.#unrollLimit})`;
    this.plans.keep(frame.closure.code, loop, why);
  }

  /** Arrays whose length differs from way to way become lists of the program. */
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

  /** The loop whose head ends with a decision of this activation between the two ways. */
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

  /** How many decisions deep the trace is. */
  get depth(): number {
    return this.#paths.length;
  }
}

const noStops: ReadonlySet<Pc> = new Set();
