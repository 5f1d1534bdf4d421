/**
 * `npm run bench` runs every bench one after the other; `npm run bench eager cpu` those whose names begin so.
 * One process each: what one compiled or left in memory doesn't reach the next.
 */

import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

// Neither the runner, nor what prints limits of the machine, nor what needs the published files.
const notBenches = new Set(['main', 'machine-limits', 'first-calls']);
const names = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -3))
  .filter((name) => !notBenches.has(name));

const wanted = process.argv.slice(2);
const chosen = names.filter(
  (name) => wanted.length === 0 || wanted.some((start) => name.startsWith(start)),
);
if (chosen.length === 0) {
  console.error(`no bench begins with ${wanted.join(' or ')}; there are: ${names.join(', ')}`);
  process.exit(1);
}
let failed = 0;
for (const name of chosen) {
  console.log(`\n── ${name} ──`);
  const file = join(import.meta.dirname, `${name}.ts`);
  const { status } = spawnSync(process.execPath, ['--import', 'tsx', file], { stdio: 'inherit' });
  if (status !== 0) failed++;
}
process.exit(failed);
