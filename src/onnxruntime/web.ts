/** Programs run by onnxruntime-web in pages: on WebAssembly, or on WebGPU as a second, tuned GPU. */

import { ArgumentError } from '../../runtime/errors/errors.ts';
import { expectOptions } from '../../runtime/options/expect-options.ts';
import { anObject } from '../../runtime/options/option-kinds.ts';
import type { RunningSteps } from '../../runtime/program/backend.ts';
import { Arrays, bytesOf, type TensorClass } from './arrays.ts';
import { typedArray } from './elements.ts';
import { type Engine, GraphProgram, type OrtTensors } from './graph-program.ts';
import { noCounts, type OnnxruntimeBackend, reportOf } from './report.ts';
import type { SegmentGraph } from './segment-graph.ts';
import { anyModel, rejected, type SessionOptions } from './session-options.ts';

export type { OnnxruntimeBackend, OnnxruntimeReport } from './report.ts';

/** The package as imported: `import * as ort from 'onnxruntime-web'` or `'onnxruntime-web/webgpu'`. */
export interface OnnxruntimeWeb {
  readonly InferenceSession: {
    create(model: Uint8Array, options?: object): Promise<OrtWebSession>;
  };
  readonly Tensor: new (...args: never[]) => object;
}

/** A session of the package. */
export interface OrtWebSession {
  run(feeds: object): Promise<object>;
  release(): Promise<void>;
}

export interface OnnxruntimeWebBackend extends OnnxruntimeBackend {
  /** Copies everything in GPU buffers to the tensors' own memory, where eager ops and synchronous reads find it. */
  land(): Promise<void>;
}

export interface OnnxruntimeWebOptions {
  /**
   * Options of its sessions, such as `{ executionProviders: ['webgpu'] }`. With
   * `preferredOutputLocation: 'gpu-buffer'`, results remain on the GPU: read the results of a captured call with
   * `await x.data()`, or after `await land()`.
   */
  readonly session?: SessionOptions;
}

/**
 * Returns a backend that runs CPU programs as graphs of onnxruntime-web, for async functions. A step that ONNX can't
 * express, or that onnxruntime has no kernel for, is run by the device's kernel, and so are synchronous parts: bodies
 * of branches and loops, and a backward called outside. Throws ArgumentError unless it is given the package. Calls
 * reject with DeviceError if it can't open a session with `session`.
 */
export function onnxruntimeWebBackend(
  ort: OnnxruntimeWeb,
  options: OnnxruntimeWebOptions = {},
): OnnxruntimeWebBackend {
  expectOptions('onnxruntimeWebBackend', options, { session: anObject });
  if (typeof ort?.InferenceSession?.create !== 'function' || typeof ort.Tensor !== 'function') {
    throw new ArgumentError({
      what: 'onnxruntimeWebBackend: not the package onnxruntime-web',
      given: typeof ort,
      expected: 'its module, with InferenceSession and Tensor',
      remedy: "import * as ort from 'onnxruntime-web', and pass ort",
    });
  }
  const counts = noCounts();
  const { session: sessionOptions = {} } = options;
  let tried: Promise<void> | undefined;
  const engine: Engine<OrtWebSession> = {
    arrays: new Arrays(ort.Tensor as unknown as TensorClass),
    readsAtOnce: false,
    dispose: (session) => void session.release(),
  };
  return {
    name: 'onnxruntime-web',
    isAsync: true,
    compile(program, plan, device, isComputable) {
      const graphs = new GraphProgram(program, plan, isComputable, engine);
      const prepared = async () => {
        if (device.kind === 'cpu') {
          tried ??= tryOptions(ort, sessionOptions);
          await tried;
          await openSessions(graphs, engine, ort, sessionOptions);
        } else graphs.leaveAll(`programs on ${device.name}`);
        graphs.count(counts);
        return graphs.runs();
      };
      let loaded: ReturnType<typeof prepared> | undefined;
      return {
        async run(running) {
          loaded ??= prepared();
          await runGraphs(await loaded, running);
        },
        dispose: () => graphs.dispose(),
      };
    },
    report: () => reportOf(counts, engine.arrays),
    async land() {
      await Promise.all([...engine.arrays.distant].map((each) => each.arrive()));
    },
  };
}

async function tryOptions(ort: OnnxruntimeWeb, options: SessionOptions): Promise<void> {
  if (Object.keys(options).length === 0) return;
  try {
    const session = await opened(ort, anyModel(), options);
    await session.release();
  } catch (error) {
    throw rejected('onnxruntime-web', options, error);
  }
}

const opened = (ort: OnnxruntimeWeb, model: Uint8Array, options: SessionOptions) =>
  ort.InferenceSession.create(model, { logSeverityLevel: 3, ...options });

async function openSessions(
  graphs: GraphProgram<OrtWebSession>,
  engine: Engine<OrtWebSession>,
  ort: OnnxruntimeWeb,
  options: SessionOptions,
): Promise<void> {
  const loading = graphs.load();
  for (let next = loading.next(); !next.done; ) {
    const graph = next.value;
    let session: OrtWebSession | undefined;
    try {
      session = await opened(ort, graph.model, { ...options, ...locationsOf(graph, options) });
      // Its WebGPU kernels reject some nodes only when they run.
      const results = await session.run(zerosFor(graph, engine));
      for (const each of Object.values(results) as { dispose?(): void }[]) each.dispose?.();
      next = loading.next(session);
    } catch (error) {
      await session?.release();
      next = loading.next(error as Error);
    }
  }
}

/** Where the results of a graph are placed: a GPU has buffers for all dtypes except float64. */
function locationsOf({ outputs }: SegmentGraph, { preferredOutputLocation }: SessionOptions) {
  if (preferredOutputLocation !== 'gpu-buffer') return {};
  const locations = outputs.map(
    ({ name, layout }) => [name, layout.dtype === 'float64' ? 'cpu' : 'gpu-buffer'] as const,
  );
  return { preferredOutputLocation: Object.fromEntries(locations) };
}

/** Creates operands of a graph, all zero. */
function zerosFor({ inputs, numbers }: SegmentGraph, engine: Engine<OrtWebSession>): OrtTensors {
  const { Tensor } = engine.arrays;
  const zeros = inputs.map(({ name, layout }) => {
    const elements = typedArray(new ArrayBuffer(bytesOf(layout)), 0, layout);
    return [name, new Tensor(layout.dtype, elements, layout.shape)] as const;
  });
  const scalars = numbers.map(
    ({ name }) => [name, new Tensor('float64', new Float64Array(1), [])] as const,
  );
  return Object.fromEntries([...zeros, ...scalars]);
}

async function runGraphs(
  runOf: ReturnType<GraphProgram<OrtWebSession>['runs']>,
  running: RunningSteps,
): Promise<void> {
  const runs = runOf(running);
  try {
    for (let next = runs.next(); !next.done; ) {
      const request = next.value;
      if ('arrives' in request) await request.arrives;
      const results = 'session' in request ? await request.session.run(request.feeds) : {};
      next = runs.next(results as OrtTensors);
    }
  } finally {
    // After an exception, frees the run's arrays.
    runs.return();
  }
}
