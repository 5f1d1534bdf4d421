import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Compute } from '../../examples/playground/page/compute.ts';

/** A worker that answers only when a test makes it. */
class FakeWorker {
  static readonly all: FakeWorker[] = [];
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onerror: ((event: { message: string }) => void) | null = null;
  isTerminated = false;

  constructor() {
    FakeWorker.all.push(this);
  }

  postMessage(): void {}

  terminate(): void {
    this.isTerminated = true;
  }
}

const request = { kind: 'inspect', text: '', budgetShare: 1, fullGraph: false } as const;
const latest = () => FakeWorker.all.at(-1)!;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('window', globalThis);
  vi.stubGlobal('Worker', FakeWorker);
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test('a worker that does not answer is replaced, and the page is told', async () => {
  const compute = new Compute();
  const answer = compute.request(request);
  const hung = latest();
  await vi.advanceTimersByTimeAsync(60_000);
  const { problem } = (await answer) as { problem: { message: string } };
  expect(problem.message).toContain('a loop that never ends');
  expect(hung.isTerminated).toBe(true);

  const next = compute.request(request);
  expect(latest()).not.toBe(hung);
  latest().onmessage?.({ data: { kind: 'inspected', id: 2 } });
  expect(await next).toMatchObject({ kind: 'inspected' });
});

test('a worker that fails to load is a failure', async () => {
  const answer = new Compute().request(request);
  latest().onerror?.({ message: '' });
  expect(await answer).toMatchObject({ kind: 'failed' });
});

test('a later request, or stop(), answers the running one with null', async () => {
  const compute = new Compute();
  const first = compute.request(request);
  const second = compute.request(request);
  expect(await first).toBeNull();
  compute.stop();
  expect(await second).toBeNull();
});
