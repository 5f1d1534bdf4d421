/** One of the threads of `tostatic run`: receives a file, runs it in its own realm, and replies. */

import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { invariant } from '../../../runtime/errors/invariant.ts';
import type { Execution } from '../../vm/machine/machine.ts';
import { compileRuntime, Realm } from '../../vm/realm/realm.ts';
import { describeError, type RunResult } from './run-result.ts';
import { runText } from './run-text.ts';

export interface WorkerData {
  readonly runtime: string;
  readonly execution: Execution;
}

const port = parentPort;
invariant(port, 'it is started as a worker');
const { runtime, execution } = workerData as WorkerData;
const compiled = compileRuntime(runtime);

const rejections: unknown[] = [];
process.on('unhandledRejection', (error) => {
  rejections.push(error);
});

port.on('message', async (file: string) => {
  const result = await run(file);
  port.postMessage(result);
});

port.postMessage('ready');

async function run(file: string): Promise<RunResult> {
  rejections.length = 0;
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    return { file, ok: false, error: describeError(error) };
  }
  try {
    const realm = new Realm(compiled, (line) => process.stderr.write(`${line}\n`));
    const native = runText(realm, text, file, execution);
    // Promise jobs run before the answer, including those that they enqueue.
    await turn();
    await turn();
    if (rejections.length > 0) return { file, ok: false, error: describeError(rejections[0]) };
    return { file, ok: true, error: null, ...(native ? { native } : {}) };
  } catch (error) {
    return { file, ok: false, error: describeError(error) };
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
