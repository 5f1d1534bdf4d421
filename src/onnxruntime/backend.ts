import { ArgumentError } from '../../runtime/errors/errors.ts';
import { expectOptions } from '../../runtime/options/expect-options.ts';
import { anObject, text } from '../../runtime/options/option-kinds.ts';
import type { Backend, CompiledProgram, RunningSteps } from '../../runtime/program/backend.ts';
import type { Plan } from '../../runtime/program/plan.ts';
import type { Program } from '../../runtime/program/program.ts';
import { elementsAt, type Numbers, readAt, roomFor, storeAt } from './elements.ts';
import { loadPackage, type OrtPackage, type OrtSession, type OrtTensor } from './load-package.ts';
import { NotMapped, type SegmentGraph, segmentGraph } from './segment-graph.ts';
import { isView, reasonForKernel, type Segment, segmentsOf } from './segments.ts';

export interface OnnxruntimeOptions {
  /** The folder from which onnxruntime-node is imported; the working directory by default. */
  readonly folder?: string;
  /** Options of its sessions, such as `{ executionProviders: ['cuda', 'cpu'] }` or `{ intraOpNumThreads: 4 }`. */
  readonly session?: Readonly<Record<string, unknown>>;
}

/** The outcome for the programs so far. */
export interface OnnxruntimeReport {
  readonly programs: number;
  readonly graphs: number;
  /** Steps of plans that are part of graphs; views are in neither count. */
  readonly inGraphs: number;
  /** Steps that the kernels of the device do. */
  readonly byKernels: number;
  /** How many of them for which reason. */
  readonly reasons: Readonly<Record<string, number>>;
}

export interface OnnxruntimeBackend extends Backend {
  report(): OnnxruntimeReport;
}

interface Counts {
  programs: number;
  graphs: number;
  inGraphs: number;
  byKernels: number;
  readonly reasons: Map<string, number>;
}

/**
 * A backend that runs programs of the CPU as graphs of onnxruntime: steps in a row become one graph. What has no form in
 * ONNX, or no kernel in onnxruntime, is done by the kernels of the device. Results are those of the kernels but for the last
 * digits. Compiling throws DeviceError where onnxruntime-node isn't installed.
 */
export function onnxruntimeBackend(options: OnnxruntimeOptions = {}): OnnxruntimeBackend {
  expectOptions('onnxruntimeBackend', options, { folder: text, session: anObject });
  return backendOver(() => loadPackage(options.folder ?? process.cwd()), options.session);
}

/** The backend over a package that is loaded when a program is compiled first. */
export function backendOver(
  load: () => OrtPackage,
  session: Readonly<Record<string, unknown>> = {},
): OnnxruntimeBackend {
  const counts: Counts = {
    programs: 0,
    graphs: 0,
    inGraphs: 0,
    byKernels: 0,
    reasons: new Map(),
  };
  let loaded: OrtPackage | undefined;
  return {
    name: 'onnxruntime',
    compile(program, plan, device, isComputable) {
      loaded ??= load();
      const compiler = new Compiler(program, plan, isComputable, loaded, session);
      if (device.kind === 'cpu') compiler.compile();
      else compiler.leaveAll(`programs on ${device.name}`);
      compiler.count(counts);
      return compiler.compiled();
    },
    report: () => ({ ...counts, reasons: Object.fromEntries(counts.reasons) }),
  };
}

interface BoundSegment {
  readonly segment: Segment;
  readonly graph: SegmentGraph;
  readonly session: OrtSession;
  /** Operands that are copied for the engine, by name: arrays made once, since new ones of this size keep the collector busy. */
  readonly copies: Map<string, Numbers>;
}

class Compiler {
  readonly #program: Program;
  readonly #plan: Plan;
  readonly #ort: OrtPackage;
  readonly #options: Readonly<Record<string, unknown>>;
  /** Per step why its kernel does it, or null. */
  readonly #reasons: (string | null)[];
  readonly #segments = new Map<number, BoundSegment>();

  constructor(
    program: Program,
    plan: Plan,
    isComputable: readonly boolean[],
    ort: OrtPackage,
    options: Readonly<Record<string, unknown>>,
  ) {
    this.#program = program;
    this.#plan = plan;
    this.#ort = ort;
    this.#options = options;
    this.#reasons = plan.steps.map((step, i) => reasonForKernel(step, program, isComputable[i]!));
  }

  leaveAll(reason: string): void {
    this.#reasons.fill(reason);
  }

  compile(): void {
    // A step that turns out to have no form divides its segment, so that others begin and end elsewhere.
    for (let isDone = false; !isDone; ) {
      isDone = true;
      const segments = segmentsOf(this.#plan.steps, (step) => this.#reasons[step] !== null);
      for (const [first, { segment, session }] of this.#segments) {
        if (segments.some((own) => own.first === first && own.last === segment.last)) continue;
        session.dispose();
        this.#segments.delete(first);
      }
      for (const segment of segments) {
        if (!this.#segments.has(segment.first) && !this.#bind(segment)) isDone = false;
      }
    }
  }

  /** False: a step has got a reason. */
  #bind(segment: Segment): boolean {
    let graph: SegmentGraph;
    try {
      graph = segmentGraph(this.#program, this.#plan, segment);
    } catch (error) {
      if (!(error instanceof NotMapped)) throw error;
      this.#reasons[error.step] = error.message;
      return false;
    }
    const session = new this.#ort.session();
    const { buffer, byteOffset, byteLength } = graph.model;
    try {
      session.loadModel(buffer, byteOffset, byteLength, { logSeverityLevel: 3, ...this.#options });
    } catch (error) {
      this.#refuse(segment, graph, error as Error);
      return false;
    }
    this.#segments.set(segment.first, { segment, graph, session, copies: new Map() });
    return true;
  }

  /** onnxruntime names the node that it has no kernel for. */
  #refuse({ first, last }: Segment, graph: SegmentGraph, { message }: Error): void {
    const [, opType, node] =
      /implementation for (\w+)\(\d+\) node with name '\w*?_(\d+)'/.exec(message) ?? [];
    const isKnown = node !== undefined;
    const reason = isKnown ? `onnxruntime has no ${opType} for these elements` : message;
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

  compiled(): CompiledProgram {
    const { steps } = this.#plan;
    const starts = steps.map((_, i) => this.#segments.get(i) ?? null);
    const isInGraph = steps.map((step, i) => this.#reasons[i] === null && !isView(step));
    const outputsAt = steps.map((_, i) =>
      [...this.#segments.values()].flatMap(({ graph }) =>
        graph.outputs.filter(({ step }) => step === i),
      ),
    );
    const run = (running: RunningSteps): void => {
      let results: Readonly<Record<string, OrtTensor>> = {};
      for (let i = 0; i < steps.length; i++) {
        if (!isInGraph[i]) {
          running.kernel(i);
          continue;
        }
        if (!running.begin(i)) throw notBegun(i);
        const start = starts[i]!;
        if (start) results = this.#run(start, running, i);
        for (const { name, id, layout } of outputsAt[i]!) {
          storeAt(running.buffer, running.address(id), layout, results[name]!.data);
        }
        running.end(i);
      }
    };
    return {
      run,
      dispose: () => {
        for (const { session } of this.#segments.values()) session.dispose();
        this.#segments.clear();
      },
    };
  }

  #run({ graph, session, copies }: BoundSegment, running: RunningSteps, step: number) {
    const Tensor = this.#ort.tensor;
    const feeds: Record<string, OrtTensor> = {};
    for (const { name, id, layout } of graph.inputs) {
      const address = running.address(id);
      let data = elementsAt(running.buffer, address, layout);
      if (!data) {
        data = copies.get(name) ?? roomFor(layout);
        copies.set(name, data);
        readAt(running.buffer, address, layout, data);
      }
      feeds[name] = new Tensor(layout.dtype, data, layout.shape);
    }
    if (graph.numbers.length > 0) {
      const attrs = running.attrs(step);
      for (const { name, attr } of graph.numbers) {
        feeds[name] = new Tensor('float64', Float64Array.of(Number(attrs[attr])), []);
      }
    }
    const fetches = Object.fromEntries(graph.outputs.map(({ name }) => [name, null]));
    return session.run(feeds, fetches, {});
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
