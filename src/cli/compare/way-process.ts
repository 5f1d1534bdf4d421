/** The other side of own-process.ts: takes a request, measures, sends the answer. */

import { setDevice } from '../../../runtime/device/current.ts';
import { init } from '../../../runtime/device/init.ts';
import { TostaticError } from '../../../runtime/errors/errors.ts';
import { invariant } from '../../../runtime/errors/invariant.ts';
import { measureWay, type WayResult } from '../../lab/compare/measure.ts';
import { ablations, settingWay, type Way, ways } from '../../lab/compare/ways.ts';
import { workloadOf } from '../../lab/compare/workload.ts';
import { importFile } from '../files/load-function.ts';
import type { WayAnswer, WayRequest } from './own-process.ts';

async function measure({ file, device: name, way, ...options }: WayRequest): Promise<WayResult> {
  const device = await init(name);
  setDevice(device);
  const workload = workloadOf(file, await importFile(file));
  return measureWay(workload, wayOf(way), { device, ...options });
}

function wayOf(request: WayRequest['way']): Way {
  if (typeof request !== 'string') return settingWay(request.title, request.options);
  const way = [...ways, ...ablations].find(({ name }) => name === request);
  invariant(way !== undefined, `a way named ${request}`);
  return way;
}

async function serve(request: WayRequest): Promise<void> {
  let answer: WayAnswer;
  try {
    answer = { kind: 'done', result: await measure(request) };
  } catch (error) {
    answer = { kind: 'failed', message: describe(error) };
  }
  process.send?.(answer, () => process.disconnect());
}

/** A mistake of the user is said in its message; anything else needs the stack. */
function describe(error: unknown): string {
  if (error instanceof TostaticError) return `${error.name}: ${error.message}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

process.once('message', (request: WayRequest) => serve(request));
// Nobody waits for the result any more.
process.once('disconnect', () => process.exit());
