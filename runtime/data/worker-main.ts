/** The main module of a DataLoader worker: makes batches of plain data on request. */

import { pool } from '../device/cpu/threads/pool.ts';
import { tidy } from '../tensor/lifetime.ts';
import { collate } from './collate.ts';
import { buffersIn, hostLeaves, toHost } from './host-batch.ts';
import { type Dataset, type IterableDataset, makesBatches } from './source.ts';
import { streamOf } from './streams.ts';
import { threads } from './threads.ts';
import type { Reply, Request, WorkerStart } from './worker-messages.ts';

type Source = Dataset<unknown> | IterableDataset<unknown>;

async function loadDataset(start: WorkerStart): Promise<Source> {
  const module = (await import(/* webpackIgnore: true */ start.module)) as Readonly<
    Record<string, unknown>
  >;
  const found = module[start.exportName];
  if (typeof found === 'function') {
    return (await found(start.data, { id: start.id, count: start.count })) as Source;
  }
  if (typeof found === 'object' && found !== null) return found as Source;
  throw new Error(`${start.module} has no data set by the name ${start.exportName}`);
}

/** Returns samples as plain data, collated unless the loader does that. */
function packed(samples: readonly unknown[], start: WorkerStart): unknown {
  return tidy(() => (start.collates ? collate(samples, hostLeaves) : samples.map(toHost)));
}

async function batchOf(source: Source, indices: Int32Array, start: WorkerStart): Promise<unknown> {
  if (start.collates && makesBatches(source)) {
    return tidy(() => toHost({ ...(source.batch(indices) as object) }));
  }
  const dataset = source as Dataset<unknown>;
  const samples = await Promise.all(Array.from(indices, (index) => dataset.get(index)));
  return packed(samples, start);
}

function failed(error: unknown): Reply {
  const { message, stack = '' } = error instanceof Error ? error : new Error(String(error));
  return { kind: 'error', message, stack };
}

async function serve(): Promise<void> {
  const { parentPort, workerData } = threads();
  const port = parentPort!;
  // The workers share the cores, so each computes on a single thread.
  pool.threads = 1;
  const start = workerData as WorkerStart;
  const source = loadDataset(start);
  // A module that fails to load is reported with the first requested batch.
  source.catch(() => {});
  let stream: AsyncIterator<unknown[]> | undefined;
  const reply = async ({ indices }: Request): Promise<Reply> => {
    try {
      const dataset = await source;
      if (indices) return { kind: 'batch', batch: await batchOf(dataset, indices, start) };
      stream ??= streamOf(dataset as IterableDataset<unknown>, start.batchSize, start.dropLast);
      const next = await stream.next();
      return next.done ? { kind: 'end' } : { kind: 'batch', batch: packed(next.value, start) };
    } catch (error) {
      return failed(error);
    }
  };
  const send = (reply: Reply): void => {
    try {
      port.postMessage(reply, [...buffersIn(reply.kind === 'batch' ? reply.batch : null)]);
    } catch (error) {
      // Some samples can't be cloned, such as functions.
      port.postMessage(failed(error));
    }
  };
  // Sequential, because a stream has an order.
  let last: Promise<void> = Promise.resolve();
  port.on('message', (request: Request) => {
    last = last.then(async () => send(await reply(request)));
  });
}

await serve();
