import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { writeBytes } from '../../runtime/save/file/files.ts';
import { CacheFiles } from '../../src/process-cache/cache-files.ts';

const folder = fs.mkdtempSync(join(tmpdir(), 'tostatic-written-'));
afterAll(() => fs.rmSync(folder, { recursive: true }));

const at = (name: string) => join(folder, name);

it('each of several writers to one path writes a whole file, and leaves no other', async () => {
  const contents = [1, 2, 3, 4].map((byte) => new Uint8Array(300_000 * byte).fill(byte));
  const path = at('shared');
  await Promise.all(
    contents.map((bytes, i) => writeBytes(i % 2 ? path : pathToFileURL(path), bytes)),
  );
  const written = fs.readFileSync(path);
  expect(contents.some((bytes) => written.equals(bytes))).toBe(true);
  expect(fs.readdirSync(folder)).toEqual(['shared']);
});

it.skipIf(process.platform === 'win32')('pipes, links and permissions remain', async () => {
  execFileSync('mkfifo', [at('pipe')]);
  const [read] = await Promise.all([
    readFile(at('pipe')),
    writeBytes(at('pipe'), Uint8Array.of(1)),
  ]);
  expect([...read]).toEqual([1]);
  expect(fs.statSync(at('pipe')).isFIFO()).toBe(true);
  for (const [name, mode] of [
    ['narrow', 0o600],
    ['wide', 0o666],
    ['new', null],
  ] as const) {
    if (mode !== null) {
      fs.writeFileSync(at(name), '');
      fs.chmodSync(at(name), mode);
    }
    fs.symlinkSync(name, at(`${name}-link`));
    await writeBytes(at(`${name}-link`), Uint8Array.of(2));
    expect(fs.lstatSync(at(`${name}-link`)).isSymbolicLink()).toBe(true);
    expect([...fs.readFileSync(at(name))]).toEqual([2]);
    if (mode !== null) expect(fs.statSync(at(name)).mode & 0o777).toBe(mode);
  }
  // Names may have 255 bytes.
  await writeBytes(at('n'.repeat(230)), Uint8Array.of(3));
});

it('a write removes what killed processes have left in its folder, and no file of a writer that runs', async () => {
  const other = fs.mkdtempSync(join(folder, 'left-'));
  const put = (name: string, hours: number) => {
    fs.writeFileSync(join(other, name), 'half');
    const time = Date.now() / 1000 - hours * 3600;
    fs.utimesSync(join(other, name), time, time);
  };
  for (const path of [
    join(other, 'a b'),
    pathToFileURL(join(other, 'a b')),
    relative('.', join(other, 'c')),
  ]) {
    put('é b.0123abcd.unfinished', 2);
    put('a b.89abcdef.unfinished', 0.5);
    put('my.unfinished', 2);
    await writeBytes(path, Uint8Array.of(1));
    const left = fs.readdirSync(other).filter((name) => name.endsWith('.unfinished'));
    expect(left).toEqual(['a b.89abcdef.unfinished', 'my.unfinished']);
  }
  // One that can't be removed doesn't keep the others.
  const stuck = join(other, 'a.00000000.unfinished');
  fs.mkdirSync(stuck);
  fs.utimesSync(stuck, 0, 0);
  put('z.0123abcd.unfinished', 2);
  await writeBytes(join(other, 'a b'), Uint8Array.of(1));
  expect(fs.readdirSync(other)).not.toContain('z.0123abcd.unfinished');
  put('a b.0123abcd.unfinished', 2);
  new CacheFiles(other, fs).write('entry', {});
  expect(fs.readdirSync(other)).toContain('entry');
  expect(fs.readdirSync(other)).not.toContain('a b.0123abcd.unfinished');
});
