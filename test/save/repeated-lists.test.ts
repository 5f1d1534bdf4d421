/** Checking a file takes time that is linear in its size, whichever of its lists is long. */

import { expect, it } from 'vitest';
import { fileOf, partsOf } from './mutations.ts';
import { sampleFiles } from './sample-files.ts';
import { tryLoad } from './try-load.ts';

type Json = Record<string, unknown> | unknown[];

/** One list for each place that differs in more than an index. */
function listsIn(document: object): readonly (readonly string[])[] {
  const found = new Map<string, readonly string[]>();
  const visit = (value: unknown, path: readonly string[]): void => {
    if (typeof value !== 'object' || value === null) return;
    const place = path.filter((key) => !/^\d+$/.test(key)).join('.');
    if (Array.isArray(value) && value.length > 0 && !found.has(place)) found.set(place, path);
    for (const [key, each] of Object.entries(value)) visit(each, [...path, key]);
  };
  visit(document, []);
  return [...found.values()];
}

/** The header as text, with the list repeated until it takes so many bytes. */
function repeated(header: object, path: readonly string[], bytes: number): string {
  const copy = structuredClone(header) as Json;
  const key = path.at(-1)!;
  const holder = path.slice(0, -1).reduce((at, each) => Reflect.get(at, each) as Json, copy);
  const list = Reflect.get(holder, key) as unknown[];
  const items = JSON.stringify(list).slice(1, -1);
  const all = Array.from({ length: Math.ceil(bytes / (items.length + 2)) }, () => items);
  const mark = '<the list>';
  Reflect.set(holder, key, mark);
  return JSON.stringify(copy).replace(`"${mark}"`, () => `[${all.join()}]`);
}

/** Milliseconds of CPU time. */
async function timeOf(bytes: Uint8Array): Promise<number> {
  const before = process.cpuUsage();
  await tryLoad(bytes);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const small = 15_000;
const factor = 16;

it('a file is read or refused in time that grows as its lists do', {
  timeout: 120_000,
}, async () => {
  const { header, data } = partsOf(await sampleFiles[0]!.make());
  const paths = listsIn(header);
  expect(paths.length).toBeGreaterThan(40);
  const slow: string[] = [];
  for (const path of paths) {
    const at = (bytes: number) => fileOf(repeated(header, path, bytes), data);
    const [short, long] = [at(small), at(small * factor)];
    // A collection or another process may take part of one run's time, not of three.
    const isSlow = async () =>
      (await timeOf(long)) > 40 + 2 * factor * Math.max(2, await timeOf(short));
    if ((await isSlow()) && (await isSlow()) && (await isSlow())) slow.push(path.join('.'));
  }
  expect(slow).toEqual([]);
});
