/** Equivalents of built-ins are captured from their printed text: nothing parses the file that they were bundled into. */

import { readdirSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { captureOwnAlone, isRefusal } from '../../src/1-capture/capture.ts';
import { isFrameworkFile } from '../../src/3-trace/state/framework-files.ts';
import { tensor, toStatic } from '../../src/index.ts';

const folder = join(import.meta.dirname, '../../src/3-trace/builtins/polyfills');

describe.each(readdirSync(folder).filter((file) => file !== 'codes.ts'))('%s', async (file) => {
  const functions = Object.entries((await import(join(folder, file))) as Record<string, unknown>);

  test.each(functions)('%s uses nothing but its arguments and globals', (name, fn) => {
    const captured = captureOwnAlone(fn as () => void);
    if (isRefusal(captured)) throw new Error(captured.detail);
    expect(captured).toMatchObject({ name, route: 'globals', strict: true });
    expect(isFrameworkFile(captured.source.file)).toBe(true);
    const { start, end } = captured.syntax().node;
    expect(captured.source.text.slice(start, end)).toBe(String(fn));
  });
});

test('tracing one asks the engine for the text of no file but the user’s', () => {
  const post = vi.spyOn(Session.prototype, 'post');
  const sum = toStatic((xs: readonly number[]) => {
    const parts: number[] = [];
    xs.forEach((x) => {
      parts.push(x * 2);
    });
    const sorted = parts.map((x) => x + 1).toSorted((a, b) => a - b);
    return tensor(sorted.filter((x) => x > 1)).sum();
  });
  expect(sum([3, 1, 2]).itemSync()).toBe(15);
  const read = post.mock.calls.filter(([method]) => String(method) === 'Debugger.getScriptSource');
  expect(read).toHaveLength(1);
  post.mockRestore();
});
