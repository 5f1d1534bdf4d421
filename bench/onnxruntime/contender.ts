/** One of the processes that `main.ts` compares: KIND WORK FOLDER THREADS. */

import { recordEvents } from '../../runtime/memory/events.ts';
import { toStatic } from '../../src/index.ts';
import { freeBuffer } from '../../src/onnxruntime/free-buffer.ts';
import { onnxruntimeBackend } from '../../src/onnxruntime/index.ts';
import { loadPackage } from '../../src/onnxruntime/load-package.ts';
import { runOnRequest } from '../interleaved.ts';
import { works } from '../works/works.ts';
import { blockStep, type HandWritten, mlpStep } from './hand-written.ts';

const [kind, work, folder, threads] = process.argv.slice(2) as [string, string, string, string];
const session = { intraOpNumThreads: Number(threads), interOpNumThreads: 1 };

const graphs: Readonly<Record<string, () => HandWritten>> = {
  W3: () => mlpStep(128),
  W4: () => blockStep({ batch: 8, steps: 128, width: 256, heads: 4 }),
};

interface Step {
  readonly step: () => number;
  readonly about: () => string;
}

function ours(): Step {
  const backend = onnxruntimeBackend({ folder, session });
  const { make } = works().find(({ name }) => name === work)!;
  const compiled = toStatic(make().step, { fullGraph: true, backend, check: 0 });
  const step = (): number => {
    const loss = compiled()!;
    const value = loss.itemSync() as number;
    loss.dispose();
    return value;
  };
  const about = (): string => {
    const { events } = recordEvents(step);
    const copied = events.flatMap((event) => (event.kind === 'copy' ? [event.bytes] : []));
    const bytes = copied.reduce((sum, each) => sum + each, 0);
    const { graphs: count, inGraphs, byKernels, arrays } = backend.report();
    return (
      `${count} graphs of ${inGraphs} steps, ${byKernels} by kernels; ${copied.length} copies of ` +
      `${bytes} bytes a step; ${arrays.inUse} bytes in arrays`
    );
  };
  return { step, about };
}

/** A session whose results are passed to its next run. `frees`: results are freed after their last read. */
function handFed(withGradients: boolean, frees: boolean): Step {
  const ort = loadPackage(folder);
  const graph = graphs[work]!();
  const { make } = works().find(({ name }) => name === work)!;
  type Feeds = Record<string, InstanceType<typeof ort.tensor>>;
  const feeds: Feeds = Object.fromEntries(
    make().tensors!.map((each, i) => {
      const data = each.dataSync().slice();
      return [graph.inputs[i]!.id, new ort.tensor(each.dtype, data, each.shape)];
    }),
  );
  const own = new ort.session();
  const { buffer, byteOffset, byteLength } = graph.model;
  own.loadModel(buffer, byteOffset, byteLength, { logSeverityLevel: 3, ...session });
  const { gradients, updated, parameters } = graph;
  const names = ['loss', ...updated, ...(withGradients ? gradients : [])];
  const fetches = Object.fromEntries(names.map((name) => [name, null]));
  let last: Feeds = {};
  const step = () => {
    const results = own.run(feeds, fetches, {}) as Feeds;
    for (const [i, name] of parameters.entries()) feeds[name] = results[updated[i]!]!;
    if (frees) for (const { data } of Object.values(last)) freeBuffer(data.buffer as ArrayBuffer);
    last = results;
    return (results.loss!.data as Float32Array)[0]!;
  };
  return { step, about: () => '' };
}

const { step, about } =
  kind === 'backend' ? ours() : handFed(kind !== 'hand-without-gradients', kind === 'hand-freed');
runOnRequest(step, about);
