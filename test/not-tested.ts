/** What a run did not test, and why, below its results: no test is skipped silently. */

import type { Reporter, TestModule, Vitest } from 'vitest/node';

const mark = 'NOT TESTED';

/** Said by a suite, while it is loaded, of what this machine or its settings do not let it test. */
export function notTested(what: string, reason: string): void {
  console.error(`${mark}: ${what}: ${reason}`);
}

/** Repeats what suites have said at the end of the run, and counts the skipped tests of every file. */
export class NotTestedReporter implements Reporter {
  readonly #print: (text: string) => void;
  readonly #said = new Set<string>();
  #isWhole = true;

  /** `left` is what the run leaves out from its start. */
  constructor(print: (text: string) => void = console.error, left: readonly string[] = []) {
    this.#print = print;
    for (const what of left) this.#said.add(what);
  }

  /** With a pattern of names, tests are skipped because somebody asked for others. */
  onInit({ config }: Pick<Vitest, 'config'>): void {
    this.#isWhole = config.testNamePattern === undefined;
  }

  onUserConsoleLog({ content }: { readonly content: string }): void {
    for (const line of content.split('\n')) {
      if (line.startsWith(`${mark}: `)) this.#said.add(line.slice(mark.length + 2));
    }
  }

  onTestRunEnd(files: readonly Pick<TestModule, 'relativeModuleId' | 'children'>[]): void {
    if (!this.#isWhole) return;
    const counts = files.flatMap(({ relativeModuleId, children }) => {
      const skipped = [...children.allTests('skipped')].length;
      const all = [...children.allTests()].length;
      return skipped > 0 ? [`${relativeModuleId}: ${skipped} of ${all} tests skipped`] : [];
    });
    const { TOSTATIC_SKIP_GPU } = process.env;
    if (TOSTATIC_SKIP_GPU === '1') this.#said.add('pages and the GPU: TOSTATIC_SKIP_GPU=1');
    const lines = [...[...this.#said].sort(), ...counts.sort()];
    this.#said.clear();
    if (lines.length > 0) this.#print([mark, ...lines].join('\n  '));
  }
}
