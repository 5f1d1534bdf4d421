import { Session } from 'node:inspector';
import { expect, test, vi } from 'vitest';
import { captureFunction, isRefusal, withCaptureSession } from '../../src/1-capture/capture.ts';

/** How often the debugger is switched on and off while `body` runs. */
function countSwitches(body: () => void): { on: number; off: number } {
  const post = vi.spyOn(Session.prototype, 'post');
  body();
  const methods = post.mock.calls.map(([method]) => method as string);
  post.mockRestore();
  const count = (name: string) => methods.filter((method) => method === name).length;
  return { on: count('Debugger.enable'), off: count('Debugger.disable') };
}

function freshFunctions(): (() => unknown)[] {
  return [1, 2, 3].map((outer) => () => outer);
}

test('session/one session serves all captures made inside it', () => {
  const functions = freshFunctions();
  const switches = countSwitches(() =>
    withCaptureSession(() => {
      for (const fn of functions) expect(isRefusal(captureFunction(fn))).toBe(false);
    }),
  );
  expect(switches).toEqual({ on: 1, off: 1 });
});

test('session/a capture by itself switches the debugger on and off again', () => {
  const [fn] = freshFunctions();
  expect(countSwitches(() => captureFunction(fn!))).toEqual({ on: 1, off: 1 });
  // Captured before: nothing is asked again.
  expect(countSwitches(() => captureFunction(fn!))).toEqual({ on: 0, off: 0 });
});
