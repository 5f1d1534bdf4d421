/** Training sessions in which something happens between the steps: other sizes, frozen parameters, errors, new optimizers. */

import fc from 'fast-check';
import { it, vi } from 'vitest';
import { withCaptureSession } from '../../src/1-capture/capture.ts';
import { type ToStaticOptions, toStatic } from '../../src/index.ts';
import { runs } from './runs.ts';
import { runSession } from './training/run-session.ts';
import { type Session, sessions } from './training/session.ts';

const modes: readonly ToStaticOptions[] = [
  {},
  { fullGraph: true },
  { capture: 'auto' },
  { memory: 'cleaned' },
  { memory: 'beforeGradNodeInputs' },
  { memory: { budget: 0 } },
  { memory: { budget: 1500 } },
  { memory: { prefer: 'bytes' } },
  { dynamic: true },
];

function check(session: Session, options: ToStaticOptions): void {
  const expected = runSession(session, (fn) => fn);
  const actual = runSession(session, (fn) => {
    const captured = toStatic(fn, { strict: true, ...options });
    // Each program runs by its first plan once, and then by the final one.
    const call = (...args: unknown[]) => {
      try {
        return Reflect.apply(captured, undefined, args);
      } finally {
        void captured.ready();
      }
    };
    return call as unknown as typeof fn;
  });
  const at = expected.findIndex((step, i) => step !== actual[i]);
  if (at < 0) return;
  // Of the step that differs, the lines around the first one that does.
  const [own, other] = [actual[at]!.split('\n'), expected[at]!.split('\n')];
  const line = other.findIndex((each, i) => each !== own[i]);
  const around = (lines: string[]) => lines.slice(Math.max(0, line - 12), line + 8).join('\n');
  throw new Error(`step ${at} is\n${around(own)}\nnot\n${around(other)}`);
}

it('training sessions do captured what they do eagerly, whatever happens between steps', {
  timeout: 3_600_000,
}, () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const property = fc.property(sessions, fc.constantFrom(...modes), check);
  withCaptureSession(() => fc.assert(property, runs(10)));
  warn.mockRestore();
});
