import '../../src/1-capture/inspector.ts';
import { execFileSync } from 'node:child_process';
import { Session } from 'node:inspector';
import { beforeEach, expect, test, vi } from 'vitest';
import {
  captureFunction,
  endCaptureSession,
  endLongCaptureSession,
  isRefusal,
  withCaptureSession,
} from '../../src/1-capture/capture.ts';
import { withSources } from '../source-process.ts';

/** How often the debugger is enabled and disabled while `body` runs, and until its turn has ended. */
async function countSwitches(body: () => void): Promise<{ on: number; off: number }> {
  const post = vi.spyOn(Session.prototype, 'post');
  body();
  await Promise.resolve();
  const methods = post.mock.calls.map(([method]) => method as string);
  post.mockRestore();
  const count = (name: string) => methods.filter((method) => method === name).length;
  return { on: count('Debugger.enable'), off: count('Debugger.disable') };
}

/** Much longer than enabling the debugger takes. */
async function untilDisabled(): Promise<void> {
  const post = vi.spyOn(Session.prototype, 'post');
  await vi.waitFor(
    () => expect(post.mock.calls.map(([method]) => method)).toContain('Debugger.disable'),
    { timeout: 30_000, interval: 10 },
  );
  post.mockRestore();
}

beforeEach(endCaptureSession);

function freshFunctions(): (() => unknown)[] {
  return [1, 2, 3].map((outer) => () => outer++);
}

test('session/one session serves all captures made inside it', async () => {
  const functions = freshFunctions();
  const switches = await countSwitches(() =>
    withCaptureSession(() => {
      for (const fn of functions) expect(isRefusal(captureFunction(fn))).toBe(false);
    }),
  );
  expect(switches).toEqual({ on: 1, off: 0 });
});

test('session/a capture by itself enables the debugger, which is disabled again later', async () => {
  const [fn] = freshFunctions();
  expect(await countSwitches(() => captureFunction(fn!))).toEqual({ on: 1, off: 0 });
  await untilDisabled();
  // Captured before: nothing is asked again.
  expect(await countSwitches(() => captureFunction(fn!))).toEqual({ on: 0, off: 0 });
});

test('session/the debugger is disabled soon: while it is enabled, kernels run as baseline code', async () => {
  const [fn] = freshFunctions();
  const before = performance.now();
  captureFunction(fn!);
  const enabling = performance.now() - before;
  const idle = performance.now();
  await untilDisabled();
  // As long as enabling took, and room for a busy machine.
  expect(performance.now() - idle).toBeLessThan(2 * enabling + 500);
});

test('session/captures share a session for a while, of which code between them sees nothing', async () => {
  const [first, second, third] = freshFunctions();
  const names = Object.getOwnPropertyNames(globalThis);
  const capture = (fn: () => unknown) => {
    captureFunction(fn);
    expect(Object.getOwnPropertyNames(globalThis)).toEqual(names);
    // biome-ignore lint/suspicious/noDebugger: it would stop here.
    debugger;
  };
  const switches = await countSwitches(() => {
    capture(first!);
    capture(second!);
  });
  expect(switches).toEqual({ on: 1, off: 0 });
  await new Promise((resolve) => setTimeout(resolve));
  expect(await countSwitches(() => capture(third!))).toEqual({ on: 0, off: 0 });
});

test('session/a turn that never ends, and captures nothing more, ends it', async () => {
  const [first, second] = freshFunctions();
  const switches = await countSwitches(() => {
    captureFunction(first!);
    endLongCaptureSession();
    captureFunction(second!);
    const disabled = vi.spyOn(Session.prototype, 'disconnect');
    const start = performance.now();
    while (disabled.mock.calls.length === 0 && performance.now() - start < 30_000) {
      endLongCaptureSession();
    }
  });
  expect(switches).toEqual({ on: 1, off: 1 });
});

test('session/an open session keeps no process alive', () => {
  const code = `
    import { captureFunction } from ${JSON.stringify(new URL('./fixtures/with-inspector.ts', import.meta.url).href)};
    const outer = 1;
    captureFunction(() => outer);
    await null;
    console.log(process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length);`;
  const args = [...withSources, '--input-type=module', '--eval', code];
  expect(execFileSync(process.execPath, args, { encoding: 'utf8' })).toBe('0\n');
});

test('session/a test runner may replace the properties of what captures put on the global object', async () => {
  const defined = vi.spyOn(Object, 'defineProperty');
  const [fn, later] = freshFunctions();
  captureFunction(fn!);
  const found = defined.mock.calls.filter(([target]) => target === globalThis);
  defined.mockRestore();
  expect(found.length).toBeGreaterThan(0);
  // As Jest does when a file ends: its setters call themselves.
  for (const [, , { value }] of found) {
    for (const key of Reflect.ownKeys(value)) {
      const set = (next: unknown) => Reflect.set(value, key, next);
      Reflect.defineProperty(value, key, { configurable: true, get: () => undefined, set });
    }
  }
  endCaptureSession();
  expect(isRefusal(captureFunction(later!))).toBe(false);
});
