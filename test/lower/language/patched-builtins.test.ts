import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { inspect } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { realmRuntime } from '../../../src/cli/run/realm-runtime.ts';
import { runText } from '../../../src/cli/run/run-text.ts';
import type { Execution } from '../../../src/vm/machine/machine.ts';
import { compileRuntime, Realm } from '../../../src/vm/realm/realm.ts';

/** One change of how many is tried; long runs try each. */
const executions: readonly (Execution & { readonly stride: number })[] = [
  { executor: 'machine', stride: 6 },
  { executor: 'interpreter', stride: 6 },
  { executor: 'machine', suspendEverywhere: true, stride: 160 },
  { executor: 'interpreter', suspendEverywhere: true, stride: 30 },
];
const isLong = process.env['GENERATED_RUNS'] !== undefined;

const fixture = (name: string): string =>
  readFileSync(new URL(`./fixtures/${name}.js`, import.meta.url), 'utf8');

let runtime: ReturnType<typeof compileRuntime>;
let names: readonly string[];

beforeAll(async () => {
  const text = await realmRuntime();
  runtime = compileRuntime(text);
  const known = text
    .replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
    .matchAll(/[.{,]\s*([A-Za-z_$][\w$]*)/g);
  names = ['0', '1', '2', ...new Set([...known].map(([, name]) => name!))];
});

async function linesOf(run: (realm: Realm) => void): Promise<string[]> {
  const lines: string[] = [];
  run(new Realm(runtime, (line) => lines.push(line)));
  for (let i = 0; i < 3; i++) await setImmediate();
  return lines;
}

/**
 * Scripts may replace the language's own functions and put properties on its prototypes. Whoever executes neither uses
 * nor meets them: what is noted is what native execution does.
 */
describe('patched builtins', () => {
  for (const patches of ['wrapped', 'removed', 'lookedUp', 'inherited']) {
    for (const { stride: usual, ...execution } of executions) {
      const stride = isLong ? 1 : patches === 'lookedUp' ? Math.ceil(usual / 15) : usual;
      it(`${patches}, ${inspect(execution)}`, { timeout: isLong ? 600_000 : 60_000 }, async () => {
        const text = `var stride = ${stride}, names = ${JSON.stringify(names)};
          ${fixture('patches')} ${fixture('every-area')} ${patches}().then(() => print('done'));`;
        const expected = await linesOf((realm) => void realm.evaluate(text, 'case.js'));
        expect(expected.at(-1)).toBe('done');
        expect(expected.length).toBeGreaterThan(1);
        const found = await linesOf((realm) => {
          expect(runText(realm, text, 'case.js', execution), 'runs natively').toBeUndefined();
        });
        expect(found).toEqual(expected);
      });
    }
  }
});
