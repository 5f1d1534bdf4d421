/** What a run leaves out is said at its end. */

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { NotTestedReporter } from '../not-tested.ts';

type File = Parameters<NotTestedReporter['onTestRunEnd']>[0][number];

const file = (relativeModuleId: string, states: readonly string[]): File => ({
  relativeModuleId,
  children: {
    allTests: (state?: string) => states.filter((own) => !state || own === state).values(),
  } as never,
});

function reported(files: readonly File[], logs: readonly string[], pattern?: RegExp): string[] {
  const printed: string[] = [];
  const reporter = new NotTestedReporter((text) => printed.push(text));
  reporter.onInit({ config: { testNamePattern: pattern } } as never);
  for (const content of logs) reporter.onUserConsoleLog({ content });
  reporter.onTestRunEnd(files);
  reporter.onTestRunEnd([]);
  return printed;
}

beforeAll(() => void vi.stubEnv('TOSTATIC_SKIP_GPU', undefined));
afterAll(() => void vi.unstubAllEnvs());

describe('what is not tested', () => {
  it('is repeated once at the end, with the skipped tests of each file', () => {
    const files = [file('b.test.ts', ['passed', 'skipped', 'skipped']), file('a', ['passed'])];
    const line = 'NOT TESTED: XLA: there is no python3';
    expect(reported(files, [`${line}\nother\n`, 'a line', line])).toEqual([
      'NOT TESTED\n  XLA: there is no python3\n  b.test.ts: 2 of 3 tests skipped',
    ]);
  });

  it('is no line when everything is', () => {
    expect(reported([file('a', ['passed', 'failed'])], ['fine'])).toEqual([]);
  });

  it('is what somebody chose when tests are picked by name', () => {
    expect(reported([file('a', ['passed', 'skipped'])], [], /one/)).toEqual([]);
  });
});
