/** What runs in a call that finds its entry, and what adds an op to a program, can be read in few files. */

import { Session } from 'node:inspector';
import { expect, it, vi } from 'vitest';
import { sourceFolder } from '../../runtime/errors/own-code.ts';
import { ProgramBuilder } from '../../runtime/program/builder.ts';
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

it('a guard hit meets 23 files, those of its kernel among them', () => {
  const f = toStatic((x: Tensor) => x.exp().add(x), { check: 0 });
  const x = randn([5, 4]);
  // Until the checks are one generated function.
  for (let i = 0; i < 300; i++) f(x).dispose();
  // A timer would end it, later on a busy machine.
  endCaptureSession();
  const met = filesMet(() => f(x).dispose());
  expect(met, met.join('\n')).toHaveLength(23);
});

it('an op that enters a program meets 9 files, of its record and the builder', () => {
  const x = randn([5, 4]);
  const once = () => toStatic((x: Tensor) => x.exp(), { check: 0 })(x).dispose();
  once();
  const { execute } = ProgramBuilder.prototype;
  let met: string[] = [];
  const spy = vi.spyOn(ProgramBuilder.prototype, 'execute');
  spy.mockImplementation(function (this: ProgramBuilder, ...given) {
    let outputs: ReturnType<typeof execute> = [];
    met = filesMet(() => {
      outputs = execute.apply(this, given);
    });
    return outputs;
  });
  once();
  spy.mockRestore();
  expect(met, met.join('\n')).toHaveLength(9);
});
