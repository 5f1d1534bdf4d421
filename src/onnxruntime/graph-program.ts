import type { Holder } from '../../runtime/device/holder.ts';
import { ArgumentError } from '../../runtime/errors/errors.ts';
import type { RunningSteps } from '../../runtime/program/backend.ts';
import type { Plan } from '../../runtime/program/plan.ts';
import type { Program, ValueId } from '../../runtime/program/program.ts';
import { type Arrays, type EngineArray, GpuArray, type OrtTensor } from './arrays.ts';
import type { Counts } from './report.ts';
import { arrivalOf, feedOf, isWhole, keepResult } from './residents.ts';
import { NotMapped, type SegmentGraph, segmentGraph } from './segment-graph.ts';
import { isView, reasonForKernel, type Segment, segmentsOf } from './segments.ts';

export type OrtTensors = Readonly<Record<string, OrtTensor>>;

/** The interface of one of the packages, synchronous or asynchronous. */
export interface Engine<Session> {
  readonly arrays: Arrays;
  /** Whether it reads operands during the call of `run`, and not later. */
  readonly readsAtOnce: boolean;
  dispose(session: Session): void;
}

interface GraphRun<Session> {
  readonly session: Session;
  readonly feeds: OrtTensors;
  /** Every result, by name. */
  readonly fetches: Readonly<Record<string, null>>;
}

/** Bytes that have to be read back from a GPU. */
interface PendingReadback {
  readonly arrives: Promise<unknown>;
}

/** A request of a run: for the results of a graph, or to wait for an arrival. */
type Request<Session> = GraphRun<Session> | PendingReadback;

type Requests<Session, Result> = Generator<Request<Session>, Result, OrtTensors>;

interface BoundSegment<Session> {
  readonly segment: Segment;
  readonly graph: SegmentGraph;
  readonly session: Session;
  /** The allocations that the last run read, in input order: the engine caches operands that are read again. */
  readonly read: (Holder | null)[];
  readonly fetches: GraphRun<Session>['fetches'];
}

/**
 * A program as graphs: consecutive steps become one graph; a step that ONNX can't express, or that onnxruntime has no
 * kernel for, is run by the device's kernel. Methods that load or run sessions are generators, since one package is
 * synchronous and another asynchronous.
 */
export class GraphProgram<Session> {
  readonly #program: Program;
  readonly #plan: Plan;
  readonly #engine: Engine<Session>;
  /** Why each step is run by its kernel, or null. */
  readonly #reasons: (string | null)[];
  readonly #segments = new Map<number, BoundSegment<Session>>();

  constructor(
    program: Program,
    plan: Plan,
    isComputable: readonly boolean[],
    engine: Engine<Session>,
  ) {
    this.#program = program;
    this.#plan = plan;
    this.#engine = engine;
    this.#reasons = plan.steps.map((step, i) => reasonForKernel(step, program, isComputable[i]!));
  }

  leaveAll(reason: string): void {
    this.#reasons.fill(reason);
  }

  /** Requests the session of each graph, and receives it or the reason why there is none. */
  *load(): Generator<SegmentGraph, void, Session | Error> {
    // An unsupported step splits its segment, which changes where other segments begin and end.
    for (let isDone = false; !isDone; ) {
      isDone = true;
      const segments = segmentsOf(this.#plan.steps, (step) => this.#reasons[step] !== null);
      for (const [first, bound] of this.#segments) {
        const { last } = bound.segment;
        if (segments.some((each) => each.first === first && each.last === last)) continue;
        this.#unload(bound);
        this.#segments.delete(first);
      }
      for (const segment of segments) {
        if (!this.#segments.has(segment.first) && !(yield* this.#bind(segment))) isDone = false;
      }
    }
  }

  /** Returns false if a step is unsupported. */
  *#bind(segment: Segment): Generator<SegmentGraph, boolean, Session | Error> {
    let graph: SegmentGraph;
    try {
      graph = segmentGraph(this.#program, this.#plan, segment);
    } catch (error) {
      if (!(error instanceof NotMapped)) throw error;
      this.#reasons[error.step] = error.message;
      return false;
    }
    const session = yield graph;
    if (session instanceof Error) {
      this.#refuse(segment, graph, session);
      return false;
    }
    this.#expect(graph, 1);
    const fetches = Object.fromEntries(graph.outputs.map(({ name }) => [name, null]));
    this.#segments.set(segment.first, { segment, graph, session, read: [], fetches });
    return true;
  }

  #expect({ inputs }: SegmentGraph, change: 1 | -1): void {
    for (const { layout } of inputs) this.#engine.arrays.expect(layout, change);
  }

  #unload({ graph, session }: BoundSegment<Session>): void {
    this.#expect(graph, -1);
    this.#engine.dispose(session);
  }

  /** onnxruntime names the node that it has no kernel for, or whose kernel rejects it. */
  #refuse({ first, last }: Segment, graph: SegmentGraph, { message }: Error): void {
    const [, missing, refusing, node] =
      /(?:implementation for (\w+)\(\d+\) node with name |running (\w+) node\. Name:)'\w*?_(\d+)/.exec(
        message,
      ) ?? [];
    const isKnown = node !== undefined;
    const reason = !isKnown
      ? message
      : missing
        ? `onnxruntime has no ${missing} for these elements`
        : `onnxruntime's ${refusing} refuses what it is given`;
    const refused = isKnown ? graph.stepOf(Number(node)) : first;
    for (let i = refused; i <= (isKnown ? refused : last); i++) {
      if (!isView(this.#plan.steps[i]!)) this.#reasons[i] = reason;
    }
  }

  count(counts: Counts): void {
    counts.programs++;
    counts.graphs += this.#segments.size;
    for (const [i, step] of this.#plan.steps.entries()) {
      const reason = this.#reasons[i]!;
      if (isView(step)) continue;
      if (reason === null) counts.inGraphs++;
      else {
        counts.byKernels++;
        counts.reasons.set(reason, (counts.reasons.get(reason) ?? 0) + 1);
      }
    }
  }

  /** Returns the runs of the loaded program: each requests the results of its graphs. */
  runs(): (running: RunningSteps) => Requests<Session, void> {
    const { steps } = this.#plan;
    const { arrays } = this.#engine;
    const starts = steps.map((_, i) => this.#segments.get(i) ?? null);
    const isInGraph = steps.map((step, i) => this.#reasons[i] === null && !isView(step));
    const outputsAt = steps.map((_, i) =>
      [...this.#segments.values()].flatMap(({ graph }) =>
        graph.outputs.filter(({ step }) => step === i),
      ),
    );
    const runOf = this.#runOf.bind(this);
    return function* (running) {
      let results: ReadonlyMap<string, EngineArray> = new Map();
      try {
        for (let i = 0; i < steps.length; i++) {
          const { op } = steps[i]!;
          if (!isInGraph[i]) {
            if (arrays.distant.size > 0 && !isView(steps[i]!)) yield* arrivals(running, op.inputs);
            running.kernel(i);
            continue;
          }
          if (!running.begin(i)) throw notBegun(i);
          const start = starts[i]!;
          if (start) {
            for (const array of results.values()) array.release();
            results = new Map();
            results = yield* runOf(start, running, i);
          }
          for (const { name, id, layout } of outputsAt[i]!) {
            const array = results.get(name)!;
            if (!isWhole(running.operand(id), layout)) {
              yield* arrivals(running, [id]);
              if (array instanceof GpuArray) yield { arrives: array.read(arrays) };
            }
            keepResult(running.operand(id), layout, array, arrays);
          }
          running.end(i);
        }
      } finally {
        for (const array of results.values()) array.release();
      }
    };
  }

  /** Runs one graph, and returns its results; the caller is one of their users. */
  *#runOf(
    { graph, session, read, fetches }: BoundSegment<Session>,
    running: RunningSteps,
    step: number,
  ): Requests<Session, ReadonlyMap<string, EngineArray>> {
    const { arrays, readsAtOnce } = this.#engine;
    const feeds: Record<string, OrtTensor> = {};
    const fed: EngineArray[] = [];
    try {
      for (const [i, { name, id, layout }] of graph.inputs.entries()) {
        const operand = running.operand(id);
        if (!isWhole(operand, layout)) yield* arrivals(running, [id]);
        const isKept = read[i] === operand.holder;
        const { tensor, array } = feedOf(operand, layout, arrays, { readsAtOnce, isKept });
        read[i] = operand.holder;
        feeds[name] = tensor;
        if (array) fed.push(array);
      }
      if (graph.numbers.length > 0) {
        const attrs = running.attrs(step);
        for (const { name, attr } of graph.numbers) {
          feeds[name] = new arrays.Tensor('float64', Float64Array.of(Number(attrs[attr])), []);
        }
      }
      const found = yield { session, feeds, fetches };
      return new Map(
        graph.outputs.map(({ name, layout }) => [name, arrays.adopt(found[name]!, layout)]),
      );
    } finally {
      for (const array of fed) array.release();
    }
  }

  dispose(): void {
    for (const bound of this.#segments.values()) this.#unload(bound);
    this.#segments.clear();
  }
}

/** Waits until the memory of these values has arrived. */
function* arrivals(running: RunningSteps, ids: readonly ValueId[]): Requests<never, void> {
  for (const id of ids) {
    const arrives = arrivalOf(running.operand(id));
    if (arrives) yield { arrives };
  }
}

function notBegun(step: number): ArgumentError {
  return new ArgumentError({
    what: "the backend 'onnxruntime' computes a step that the framework has done",
    given: `step ${step}`,
    expected: 'the steps that were passed to compile',
    remedy: 'use the kernels of tostatic: leave out `backend`',
  });
}
