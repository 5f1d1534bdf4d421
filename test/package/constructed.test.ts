/** Captured functions construct modules, optimizers and schedules of the package as published, with an inspector and without. */

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { installed } from './installed.ts';

let project: string;
beforeAll(async () => {
  ({ project } = await installed());
}, 240_000);

/** Tries every class with the first arguments that it accepts, and prints the names and the failures. */
const program = (entry: string) => `
import { nn, optim, toStatic } from '${entry}';
const weight = nn.parameter(new nn.Linear(2, 2).weight);
const layer = () => new nn.Linear(2, 2);
const tries = [
  [], [2], [2, 2], [2, 2, 2], [[layer()]], [[weight]], [[weight], { lr: 0.1 }],
  [new optim.SGD([weight], { lr: 0.1 }), 2], [new optim.SGD([weight], { lr: 0.1 }), 2, 3], [new optim.SGD([weight], { lr: 0.1 }), () => 1],
];
const made = [], failed = [];
for (const [name, type] of Object.entries({ ...nn, ...optim })) {
  if (typeof type !== 'function' || !/^class\\b/.test(String(type))) continue;
  const given = tries.find((args) => {
    try { return new type(...args); } catch { return false; }
  });
  if (!given) continue;
  made.push(name);
  const make = toStatic(() => new type(...given), { fullGraph: true, strict: true, scope: { type, given } });
  try { if (!(make() instanceof type)) failed.push(name); } catch (error) { failed.push(name + ': ' + error.message); }
}
console.log(JSON.stringify({ made, failed }));
`;

const entries = {
  'with an inspector': 'tostatic',
  without: './node_modules/tostatic/dist/src/page.js',
};

describe('captured functions construct what the package exports', () => {
  for (const [name, entry] of Object.entries(entries)) {
    test(name, () => {
      const file = join(project, `constructed-${name.replaceAll(' ', '-')}.mjs`);
      writeFileSync(file, program(entry));
      const text = execFileSync(process.execPath, [file], { encoding: 'utf8' });
      const { made, failed } = JSON.parse(text) as Record<'made' | 'failed', readonly string[]>;
      expect(failed).toEqual([]);
      expect(made).toEqual(expect.arrayContaining(['ReLU', 'MSELoss', 'BatchNorm2d', 'MaxPool2d']));
      expect(made.length).toBeGreaterThan(100);
    });
  }
});
