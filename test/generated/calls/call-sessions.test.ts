import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { withCaptureSession } from '../../../src/1-capture/capture.ts';
import { type ToStaticOptions, tidy, toStatic } from '../../../src/index.ts';
import { runs } from '../runs.ts';
import { runSession, type Seen } from './run-session.ts';
import { type CallSession, callSessions } from './sessions.ts';

const modes: readonly ToStaticOptions[] = [
  {},
  { fullGraph: true },
  { capture: 'auto' },
  { dynamic: true, capture: 'auto' },
  { memory: { budget: 0 } },
  { memory: 'cleaned' },
  { backend: 'interpret' },
];

type Difference =
  | { readonly is: 'known'; readonly why: string }
  | { readonly is: 'found'; readonly text: string };

const said = (outcome: string, what: string): boolean => outcome.includes(what);

/** Returns why two outcomes differ by design, which ends a session. */
function knownDifference({ functions }: CallSession, eager: Seen, captured: Seen): string | null {
  const [expected, actual] = [eager.outcome, captured.outcome];
  // One program refuses what it can't be.
  if (/^(FullGraph|Capture)Error/.test(actual)) return 'refused';
  if (said(actual, 'a gradient of a gradient through a branch')) return 'refused';
  for (const each of [expected, actual]) {
    // Eagerly, unreachable handles on the memory make a write throw until they are collected.
    if (said(each, 'memory that several tensors show')) return 'handles in the way';
  }
  if (!eager.differentiates) return null;
  // Only what a request leads to is read; within a budget, backward reads other values.
  const written = 'changed in place';
  if (said(expected, written) !== said(actual, written)) return 'another value is read';
  // A result that leads to what its own function has freed can't be differentiated for the rest, either.
  const frees = functions.some((body) => body.includes('.backward()'));
  const isRefused = said(actual, 'a second time') || said(actual, 'an earlier backward freed');
  if (frees && expected === 'done' && isRefused) return 'freed in part';
  return null;
}

/** Gradients of results may have another layout, and a history that leads nowhere. */
function textOf({ everything }: Seen, found: Float32Array[]): string {
  return JSON.stringify(everything, (key, value: unknown) => {
    if (key === 'isContiguous') return undefined;
    if (key === 'grad') return { ...(value as object), requiresGrad: null, isLeaf: null };
    if (key !== 'bits') return value;
    found.push(new Float32Array(new Uint8Array(Buffer.from(value as string, 'hex')).buffer));
    return null;
  });
}

/** Sums of gradients may be rounded in another way where a graph breaks. */
function isClose(expected: Float32Array, actual: Float32Array): boolean {
  const scale = Math.max(0, ...expected.map(Math.abs).filter(Number.isFinite));
  return expected.every((value, i) => {
    const other = actual[i]!;
    return Object.is(value, other) || value === other || Math.abs(value - other) <= 1e-5 * scale;
  });
}

function differenceOf(session: CallSession, options: ToStaticOptions): Difference | null {
  const eager = runSession(session, (fn) => fn);
  const captured = runSession(session, (fn) => toStatic(fn, { strict: true, ...options }));
  for (const [i, actual] of [...captured].entries()) {
    const expected = eager.next().value as Seen;
    const [before, after]: Float32Array[][] = [[], []];
    const isSame =
      textOf(expected, before!) === textOf(actual, after!) &&
      expected.outcome === actual.outcome &&
      before!.every((each, k) => isClose(each, after![k]!));
    if (isSame) continue;
    const why = knownDifference(session, expected, actual);
    if (why !== null) return { is: 'known', why };
    const what = `after ${session.actions[i]!.is}: ${actual.outcome}, not ${expected.outcome}`;
    return { is: 'found', text: `${what}\n${JSON.stringify([expected, actual], null, 1)}` };
  }
  return null;
}

it('sessions of calls and backwards go with captured functions as with the functions themselves', {
  timeout: 3_600_000,
}, () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  let [all, known] = [0, 0];
  const property = fc.property(callSessions, fc.constantFrom(...modes), (session, options) => {
    const found = tidy(() => differenceOf(session, options));
    if (found?.is === 'found') throw new Error(found.text);
    all++;
    if (found) known++;
  });
  withCaptureSession(() => fc.assert(property, runs(100)));
  expect(known / all).toBeLessThan(0.15);
  warn.mockRestore();
});
