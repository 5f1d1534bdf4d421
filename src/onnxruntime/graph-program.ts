import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { ArgumentError } from '../../runtime/errors/errors.ts';
import type { RunningSteps } from '../../runtime/program/backend.ts';
import type { Plan } from '../../runtime/program/plan.ts';
import type { Program } from '../../runtime/program/program.ts';
import { elementsAt, type Numbers, readAt, roomFor, storeAt } from './elements.ts';
import type { Counts } from './report.ts';
import { NotMapped, type SegmentGraph, segmentGraph } from './segment-graph.ts';
import { isView, reasonForKernel, type Segment, segmentsOf } from './segments.ts';

/** A tensor of the package: elements as they lie in memory. */
export interface OrtTensor {
  readonly data: ArrayBufferView;
}

export type OrtTensors = Readonly<Record<string, OrtTensor>>;

/** The interface of one of its packages, synchronous or asynchronous. */
export interface Engine<Session> {
  /** Its `Tensor`. */
  readonly tensor: new (
    type: string,
    data: ArrayBufferView,
    dims: readonly number[],
  ) => OrtTensor;
  /** It reads operands when `run` is called, and not later. */
  readonly readsAtOnce: boolean;
  /** It writes results into arrays that it is given. */
  readonly fillsResults: boolean;
  dispose(session: Session): void;
}

/** A run of one graph. */
export interface GraphRun<Session> {
  readonly session: Session;
  readonly feeds: OrtTensors;
  /** Where results go; null: to arrays that the engine makes. */
  readonly fetches: Readonly<Record<string, OrtTensor | null>>;
}

interface BoundSegment<Session> {
  readonly segment: Segment;
  readonly graph: SegmentGraph;
  readonly session: Session;
  /** Operands that are copied for the engine, by name: arrays made once, since new ones of this size keep the collector busy. */
  readonly copies: Map<string, Numbers>;
  readonly fetches: GraphRun<Session>['fetches'];
}

/**
 * A program as graphs: steps in a row become one graph, and what has no form in ONNX, or no kernel in onnxruntime, stays
 * with the kernels of the device. What takes sessions to load and to run is a generator, since one package does that
 * at once and another one later.
 */
export class GraphProgram<Session> {
  readonly #program: Program;
  readonly #plan: Plan;
  readonly #engine: Engine<Session>;
  /** The reason why each step's kernel does it, or null. */
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
    // A step that turns out to have no form divides its segment, so that others begin and end elsewhere.
    for (let isDone = false; !isDone; ) {
      isDone = true;
      const segments = segmentsOf(this.#plan.steps, (step) => this.#reasons[step] !== null);
      for (const [first, { segment, session }] of this.#segments) {
        if (segments.some((own) => own.first === first && own.last === segment.last)) continue;
        this.#engine.dispose(session);
        this.#segments.delete(first);
      }
      for (const segment of segments) {
        if (!this.#segments.has(segment.first) && !(yield* this.#bind(segment))) isDone = false;
      }
    }
  }

  /** Returns false if a step has a reason not to be in a graph. */
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
    const fetches = this.#fetchesOf(graph);
    this.#segments.set(segment.first, { segment, graph, session, copies: new Map(), fetches });
    return true;
  }

  /** Arrays for results, made once: memory that is new in each run costs as much as a copy. */
  #fetchesOf({ outputs }: SegmentGraph): GraphRun<Session>['fetches'] {
    const { tensor: Tensor, fillsResults } = this.#engine;
    const fetched = outputs.map(({ name, layout }) => {
      if (!fillsResults) return [name, null] as const;
      return [name, new Tensor(layout.dtype, roomFor(layout), layout.shape)] as const;
    });
    return Object.fromEntries(fetched);
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

  /** The runs of the loaded program: each asks for the results of its graphs. */
  runs(): (running: RunningSteps) => Generator<GraphRun<Session>, void, OrtTensors> {
    const { steps } = this.#plan;
    const starts = steps.map((_, i) => this.#segments.get(i) ?? null);
    const isInGraph = steps.map((step, i) => this.#reasons[i] === null && !isView(step));
    const outputsAt = steps.map((_, i) =>
      [...this.#segments.values()].flatMap(({ graph }) =>
        graph.outputs.filter(({ step }) => step === i),
      ),
    );
    const runOf = this.#runOf.bind(this);
    return function* (running) {
      let results: OrtTensors = {};
      for (let i = 0; i < steps.length; i++) {
        if (!isInGraph[i]) {
          running.kernel(i);
          continue;
        }
        if (!running.begin(i)) throw notBegun(i);
        const start = starts[i]!;
        if (start) results = yield runOf(start, running, i);
        for (const { name, id, layout } of outputsAt[i]!) {
          storeAt(running.buffer, running.address(id), layout, results[name]!.data);
        }
        running.end(i);
      }
    };
  }

  #runOf(bound: BoundSegment<Session>, running: RunningSteps, step: number): GraphRun<Session> {
    const { graph, session, fetches } = bound;
    const { tensor: Tensor } = this.#engine;
    const feeds: Record<string, OrtTensor> = {};
    for (const { name, id, layout } of graph.inputs) {
      const data = this.#operand(bound, name, layout, running, running.address(id));
      feeds[name] = new Tensor(layout.dtype, data, layout.shape);
    }
    if (graph.numbers.length > 0) {
      const attrs = running.attrs(step);
      for (const { name, attr } of graph.numbers) {
        feeds[name] = new Tensor('float64', Float64Array.of(Number(attrs[attr])), []);
      }
    }
    return { session, feeds, fetches };
  }

  /** The elements where they lie, or a copy where the engine can't read them there. */
  #operand(
    { copies }: BoundSegment<Session>,
    name: string,
    layout: TensorMeta,
    { buffer }: RunningSteps,
    address: number,
  ): Numbers {
    const inPlace = this.#engine.readsAtOnce ? elementsAt(buffer, address, layout) : null;
    if (inPlace) return inPlace;
    let copy = copies.get(name);
    if (!copy) {
      copy = roomFor(layout);
      copies.set(name, copy);
    }
    readAt(buffer, address, layout, copy);
    return copy;
  }

  dispose(): void {
    for (const { session } of this.#segments.values()) this.#engine.dispose(session);
    this.#segments.clear();
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
