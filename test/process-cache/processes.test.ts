/** What one process has traced, in the next: none traces again, unless something is another there. */

import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withSources } from '../source-process.ts';

interface Told {
  readonly name: string;
  readonly isAsEager: boolean;
  readonly found: unknown;
  readonly translations: number;
  readonly knownTraces: number;
  readonly unkeptTraces: readonly string[];
}

const programs = join(import.meta.dirname, 'programs');

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tostatic-cache-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const cacheIn = (name: string) => ({ TOSTATIC_CACHE: join(folder, name) });

function run(script: string, env: Readonly<Record<string, string>>): Told[] {
  const text = execFileSync(process.execPath, [...withSources, script], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
  return JSON.parse(text) as Told[];
}

describe('process-cache/processes', () => {
  it('a second process traces nothing, and what differs there is traced', () => {
    const script = join(programs, 'run-all.ts');
    const cache = cacheIn('all');
    const first = run(script, cache);
    const second = run(script, cache);
    expect(first.length).toBeGreaterThan(10);
    expect(first.filter(({ isAsEager }) => !isAsEager)).toEqual([]);
    expect(first.flatMap(({ unkeptTraces }) => unkeptTraces)).toEqual([]);
    expect(first.map(({ knownTraces }) => knownTraces)).toEqual(first.map(() => 0));
    for (const [i, { name, found, translations }] of first.entries()) {
      expect(translations, name).toBeGreaterThan(0);
      expect(second[i], name).toMatchObject({ name, isAsEager: true, found, translations: 0 });
      expect(second[i]!.knownTraces, name).toBeGreaterThanOrEqual(translations);
    }

    const names = 'mode,constant,named,code,factory,classes,patched,shared,pattern,printed';
    const third = run(script, { ...cache, CHANGED: names });
    for (const [i, { name, isAsEager, found, translations, knownTraces }] of third.entries()) {
      expect(isAsEager, name).toBe(true);
      const isChanged = names.split(',').includes(name);
      expect(knownTraces > 0, name).toBe(!isChanged);
      expect(translations > 0, name).toBe(isChanged);
      if (isChanged) expect(found, name).not.toEqual(first[i]!.found);
      else expect(found, name).toEqual(first[i]!.found);
    }
  });

  it('a helper in another file that has changed is traced anew, and so is one that has moved', () => {
    const copy = join(folder, 'copy');
    cpSync(programs, copy, { recursive: true });
    const root = join(import.meta.dirname, '../..');
    for (const name of ['run-all.ts', 'steps.ts', 'helper.ts']) {
      const path = join(copy, name);
      const text = readFileSync(path, 'utf8').replaceAll('../../../src/', `${root}/src/`);
      writeFileSync(path, text.replaceAll('../../trace/', `${root}/test/trace/`));
    }
    writeFileSync(join(copy, 'package.json'), '{ "type": "module" }');
    const helper = join(copy, 'helper.ts');
    const text = readFileSync(helper, 'utf8');
    const states = [text, text, text.replace('mul(3)', 'mul(4)'), `\n${text}`];
    const told = states.map((each) => {
      writeFileSync(helper, each);
      const all = run(join(copy, 'run-all.ts'), { ...cacheIn('copy'), ONLY: 'imported,named' });
      return all.map(({ isAsEager, translations, knownTraces }) => {
        return { isAsEager, translations, knownTraces };
      });
    });
    const traced = { isAsEager: true, translations: 1, knownTraces: 0 };
    const known = { isAsEager: true, translations: 0, knownTraces: 1 };
    expect(told).toEqual([
      [traced, traced],
      [known, known],
      [traced, known],
      [traced, known],
    ]);
  });
});
