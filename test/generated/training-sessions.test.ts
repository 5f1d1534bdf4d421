/** Training sessions in which something happens between the steps: other sizes, frozen parameters, errors, new optimizers. */

import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { withCaptureSession } from '../../src/1-capture/capture.ts';
import { FullGraphError, type ToStaticOptions, toStatic } from '../../src/index.ts';
import { runs } from './runs.ts';
import { combinedOptions } from './training/options.ts';
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

/** Returns false if the session can't be one program, which says so by name. */
function check(session: Session, options: ToStaticOptions): boolean {
  const expected = runSession(session, (fn) => fn);
  let isRefused = false;
  const actual = runSession(session, (fn) => {
    const captured = toStatic(fn, { strict: true, ...options });
    // Each program runs by its first plan once, and then by the final one.
    const call = (...args: unknown[]) => {
      try {
        return Reflect.apply(captured, undefined, args);
      } catch (error) {
        isRefused ||= error instanceof FullGraphError;
        throw error;
      } finally {
        void captured.ready();
      }
    };
    return call as unknown as typeof fn;
  });
  if (isRefused) return false;
  const at = expected.findIndex((step, i) => step !== actual[i]);
  if (at < 0) return true;
  // Of the step that differs, the lines around the first one that does.
  const [own, other] = [actual[at]!.split('\n'), expected[at]!.split('\n')];
  const line = other.findIndex((each, i) => each !== own[i]);
  const around = (lines: string[]) => lines.slice(Math.max(0, line - 12), line + 8).join('\n');
  throw new Error(`step ${at} is\n${around(own)}\nnot\n${around(other)}`);
}

const one = fc.constantFrom(...modes);

/** How many sessions a short run has, and the share of them that may be refused as one program. */
const cases = {
  'training sessions': { chosen: sessions, usually: 10, mayRefuse: 0.1, options: one },
  'training sessions with many options at once': {
    ...{ chosen: sessions, usually: 20, mayRefuse: 0.25, options: combinedOptions },
  },
  'training sessions of random trees of modules': {
    chosen: sessions.map((session): Session => ({ ...session, net: 'tree' })),
    usually: 4,
    mayRefuse: 0.25,
    options: one,
  },
};

it.each(Object.entries(cases))(
  '%s do captured what they do eagerly, whatever happens between steps',
  {
    timeout: 3_600_000,
  },
  (_name, { chosen, usually, mayRefuse, options: givenOptions }) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const count = { compared: 0, refused: 0 };
    const property = fc.property(chosen, givenOptions, (session, options) => {
      count[check(session, options) ? 'compared' : 'refused']++;
    });
    withCaptureSession(() => fc.assert(property, runs(usually)));
    warn.mockRestore();
    // In one mode of nine, a decision of a tree may have branches that don't merge.
    expect(count.refused).toBeLessThanOrEqual(mayRefuse * count.compared);
  },
);
