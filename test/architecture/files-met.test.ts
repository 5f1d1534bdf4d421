/** What runs in a call that finds its entry can be read in few files, of the dispatch, the guards and run_program. */

import { Session } from 'node:inspector';
import { expect, it } from 'vitest';
import { sourceFolder } from '../../runtime/errors/own-code.ts';
import { endCaptureSession } from '../../src/1-capture/live/capture-session.ts';
import { randn, type Tensor, toStatic } from '../../src/index.ts';

interface Script {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
}

/** The files of the library that have a function which `body` calls. */
function filesMet(body: () => void): string[] {
  const session = new Session();
  session.connect();
  let met: readonly Script[] = [];
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  session.post('Profiler.takePreciseCoverage');
  body();
  session.post('Profiler.takePreciseCoverage', (_, { result }) => {
    met = result;
  });
  session.post('Profiler.stopPreciseCoverage');
  session.disconnect();
  return met
    .filter(({ functions }) => functions.some(({ ranges }) => ranges[0]!.count > 0))
    .map(({ url }) => decodeURIComponent(url.replace('file://', '')))
    .filter((file) => file.startsWith(sourceFolder!))
    .map((file) => file.slice(sourceFolder!.length))
    .filter((file) => /^(?:runtime|src)\//.test(file))
    .sort();
}

it('a guard hit meets 24 files, those of its kernel among them', () => {
  const f = toStatic((x: Tensor) => x.exp().add(x), { check: 0 });
  const x = randn([5, 4]);
  // Until the checks are one generated function.
  for (let i = 0; i < 300; i++) f(x).dispose();
  // A timer would end it, later on a busy machine.
  endCaptureSession();
  const met = filesMet(() => f(x).dispose());
  expect(met, met.join('\n')).toHaveLength(24);
});
