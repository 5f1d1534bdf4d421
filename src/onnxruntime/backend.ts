import { DeviceError } from '../../runtime/errors/errors.ts';
import { invariant } from '../../runtime/errors/invariant.ts';
import { expectOptions } from '../../runtime/options/expect-options.ts';
import { anObject, text } from '../../runtime/options/option-kinds.ts';
import type { RunningSteps } from '../../runtime/program/backend.ts';
import { Arrays } from './arrays.ts';
import { type Engine, GraphProgram, type OrtTensors } from './graph-program.ts';
import { loadPackage, type OrtPackage, type OrtSession } from './load-package.ts';
import { noCounts, type OnnxruntimeBackend, reportOf } from './report.ts';
import { anyModel, rejected, type SessionOptions } from './session-options.ts';

export interface OnnxruntimeOptions {
  /** The folder from which onnxruntime-node is imported; the working directory by default. */
  readonly folder?: string;
  /** Options of its sessions, such as `{ executionProviders: ['cuda', 'cpu'] }` or `{ intraOpNumThreads: 4 }`. */
  readonly session?: SessionOptions;
}

/**
 * Returns a backend that runs CPU programs as graphs of onnxruntime: consecutive steps become one graph. A step
 * that ONNX can't express, or that onnxruntime has no kernel for, is run by the device's own kernel. Results differ
 * from those of the kernels only in the last digits. Compiling throws DeviceError if onnxruntime-node isn't
 * installed, or can't open a session with `session`.
 */
export function onnxruntimeBackend(options: OnnxruntimeOptions = {}): OnnxruntimeBackend {
  expectOptions('onnxruntimeBackend', options, { folder: text, session: anObject });
  return backendOver(() => loadPackage(options.folder ?? process.cwd()), options.session);
}

/** Returns the backend over a package that is loaded when a program is first compiled. */
export function backendOver(
  load: () => OrtPackage,
  options: SessionOptions = {},
): OnnxruntimeBackend {
  const counts = noCounts();
  let loaded: { readonly ort: OrtPackage; readonly engine: Engine<OrtSession> } | undefined;
  return {
    name: 'onnxruntime',
    compile(program, plan, device, isComputable) {
      loaded ??= loadedBy(load, options);
      const graphs = new GraphProgram(program, plan, isComputable, loaded.engine);
      if (device.kind === 'cpu') openSessions(graphs, loaded.ort, options);
      else graphs.leaveAll(`programs on ${device.name}`);
      graphs.count(counts);
      const runOf = graphs.runs();
      return { run: (running) => runGraphs(runOf, running), dispose: () => graphs.dispose() };
    },
    report: () => reportOf(counts, loaded?.engine.arrays),
  };
}

function loadedBy(load: () => OrtPackage, options: SessionOptions) {
  const ort = load();
  if (Object.keys(options).length > 0) {
    try {
      opened(ort, anyModel(), options).dispose();
    } catch (error) {
      throw rejected('onnxruntime', options, error);
    }
  }
  const engine: Engine<OrtSession> = {
    arrays: new Arrays(ort.tensor),
    readsAtOnce: true,
    dispose: (session) => session.dispose(),
  };
  return { ort, engine };
}

function openSessions(
  graphs: GraphProgram<OrtSession>,
  ort: OrtPackage,
  options: SessionOptions,
): void {
  const loading = graphs.load();
  for (let next = loading.next(); !next.done; ) {
    try {
      next = loading.next(opened(ort, next.value.model, options));
    } catch (error) {
      next = loading.next(error as Error);
    }
  }
}

function opened(ort: OrtPackage, model: Uint8Array, options: SessionOptions): OrtSession {
  const { buffer, byteOffset, byteLength } = model;
  const session = new ort.session();
  session.loadModel(buffer, byteOffset, byteLength, { logSeverityLevel: 3, ...options });
  return session;
}

function runGraphs(
  runOf: ReturnType<GraphProgram<OrtSession>['runs']>,
  running: RunningSteps,
): void {
  const runs = runOf(running);
  try {
    for (let next = runs.next(); !next.done; ) {
      const request = next.value;
      invariant('session' in request, 'onnxruntime-node has no arrays on a GPU');
      const { session, feeds, fetches } = request;
      next = runs.next(atOnce(session.run(feeds, fetches, {})));
    }
  } finally {
    // After an exception, frees the run's arrays.
    runs.return();
  }
}

/**
 * Returns the results of a run. Throws DeviceError if the addon runs graphs in another thread and returns a
 * promise.
 */
function atOnce(results: OrtTensors | Promise<unknown>): OrtTensors {
  if (!(results instanceof Promise)) return results;
  results.catch(() => {});
  throw new DeviceError({
    what: "the backend 'onnxruntime' needs an onnxruntime-node that runs graphs synchronously",
    given: 'an addon whose run returns a promise',
    expected: 'onnxruntime-node 1.20 to 1.30',
    remedy: 'npm install onnxruntime-node@1.30.0',
  });
}
