import { Session } from 'node:inspector';
import { expect, test, vi } from 'vitest';
import {
  captureFunction,
  endLongCaptureSession,
  isRefusal,
  withCaptureSession,
} from '../../src/1-capture/capture.ts';

/** How often the debugger is switched on and off while `body` runs, and till its turn has ended. */
async function countSwitches(body: () => void): Promise<{ on: number; off: number }> {
  const post = vi.spyOn(Session.prototype, 'post');
  body();
  await Promise.resolve();
  const methods = post.mock.calls.map(([method]) => method as string);
  post.mockRestore();
  const count = (name: string) => methods.filter((method) => method === name).length;
  return { on: count('Debugger.enable'), off: count('Debugger.disable') };
}

function freshFunctions(): (() => unknown)[] {
  return [1, 2, 3].map((outer) => () => outer);
}

test('session/one session serves all captures made inside it', async () => {
  const functions = freshFunctions();
  const switches = await countSwitches(() =>
    withCaptureSession(() => {
      for (const fn of functions) expect(isRefusal(captureFunction(fn))).toBe(false);
    }),
  );
  expect(switches).toEqual({ on: 1, off: 1 });
});

test('session/a capture by itself switches the debugger on and off again', async () => {
  const [fn] = freshFunctions();
  expect(await countSwitches(() => captureFunction(fn!))).toEqual({ on: 1, off: 1 });
  // Captured before: nothing is asked again.
  expect(await countSwitches(() => captureFunction(fn!))).toEqual({ on: 0, off: 0 });
});

test('session/captures of one turn share a session, of which code between them sees nothing', async () => {
  const functions = freshFunctions();
  const names = Object.getOwnPropertyNames(globalThis);
  const switches = await countSwitches(() => {
    for (const fn of functions) {
      captureFunction(fn);
      expect(Object.getOwnPropertyNames(globalThis)).toEqual(names);
    }
  });
  expect(switches).toEqual({ on: 1, off: 1 });
});

test('session/a long turn of calls that capture nothing ends it', async () => {
  const [first, second] = freshFunctions();
  const switches = await countSwitches(() => {
    captureFunction(first!);
    endLongCaptureSession();
    const start = performance.now();
    while (performance.now() - start < 60);
    endLongCaptureSession();
    captureFunction(second!);
  });
  expect(switches).toEqual({ on: 2, off: 2 });
});
