import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { nodeWithWideVectors } from '../cpu/node-with-wide-vectors.ts';
import { installed } from './installed.ts';

const node = nodeWithWideVectors();

const program = `
import { init, matmul, randn, seed } from 'tostatic';
const revectorize = process.argv[2] === 'wide';
await init('cpu', { revectorize });
seed(1);
console.log(JSON.stringify(matmul(randn([70, 300]), randn([300, 50])).tolist()));
`;

it.skipIf(!node)(
  'the installed package has vectors of 256 bits',
  { timeout: 240_000 },
  async () => {
    const { project } = await installed();
    const file = join(project, 'wide-vectors.mjs');
    writeFileSync(file, program);
    const printed = (how: string) => execFileSync(node!, [file, how], { encoding: 'utf8' });
    expect(printed('wide')).toBe(printed('narrow'));
  },
);
