import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect } from 'vitest';
import { positionInStackLine } from '../../runtime/errors/stack-lines.ts';

/** The first frames of the error's stack are the lines of the file that hold these texts. */
export function expectPlaces(error: Error, file: string, texts: readonly string[]): void {
  const lines = readFileSync(file, 'utf8').split('\n');
  const expected = texts.map((text) => lines.findIndex((line) => line.includes(text)) + 1);
  const places = error.stack!.split('\n').flatMap((line) => positionInStackLine(line) ?? []);
  const found = places.slice(0, texts.length);
  expect(found.map((place) => basename(place.file))).toEqual(texts.map(() => basename(file)));
  expect(found.map(({ line }) => line)).toEqual(expected);
}
